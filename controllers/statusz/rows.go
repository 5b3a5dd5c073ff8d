package statusz

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/handoff"
)

// streamRow is a stream that no node serves.
type streamRow struct {
	Name, Node, State, Reason, Message, Since string
	Epoch                                     int64
}

func showStream(stream *v1alpha1.Stream, now time.Time) streamRow {
	ready, _ := condition.Get(stream.Status.Conditions, v1alpha1.ConditionReady)
	return streamRow{
		Name: stream.Namespace + "/" + stream.Name, Node: stream.Status.Node, State: string(stream.Status.State), Epoch: stream.Status.Epoch,
		Reason: ready.Reason, Message: ready.Message, Since: ago(since(stream), now),
	}
}

// since is from when on a stream has waited.
func since(stream *v1alpha1.Stream) time.Time {
	if ready, found := condition.Get(stream.Status.Conditions, v1alpha1.ConditionReady); found {
		return ready.LastTransitionTime.Time
	}
	return stream.CreationTimestamp.Time
}

// nodeRow is a node, and how far its drain is.
type nodeRow struct {
	Name                    string
	Ready, Schedulable      bool
	Why                     string // it is not ready, not schedulable, or drains
	Streams, Slots, Inbound int
	Draining                bool
	Moved, Total, Blocked   int32
	DrainEnds, Blocker      string
}

func showNode(node *v1alpha1.StreamNode, owned, inbound int, now time.Time) nodeRow {
	conditions := node.Status.Conditions
	ready, _ := condition.Get(conditions, v1alpha1.ConditionReady)
	schedulable, _ := condition.Get(conditions, v1alpha1.ConditionSchedulable)
	row := nodeRow{
		Name: node.Name, Ready: ready.Status == metav1.ConditionTrue, Schedulable: schedulable.Status == metav1.ConditionTrue,
		Streams: owned, Slots: int(node.Spec.Slots), Inbound: inbound,
	}
	switch {
	case !row.Ready:
		row.Why = ready.Message
	case !row.Schedulable:
		row.Why = schedulable.Message
	}
	if drain := node.Status.Drain; drain != nil {
		row.Draining, row.Moved, row.Total, row.Blocked = true, drain.Moved, drain.Total, drain.Blocked
		if drain.EstimatedEnd != nil {
			row.DrainEnds = in(drain.EstimatedEnd.Time, now)
		}
		if len(drain.Blockers) > 0 {
			row.Blocker = drain.Blockers[0].Stream + ": " + drain.Blockers[0].Message
		}
	}
	return row
}

// transferRow is a transfer that is under way.
type transferRow struct {
	Name, Stream, Source, Target, Cause, Age, WaitsFor string
	Steps                                              []step
}

// step is one of a transfer, and how long after the one before it was taken.
type step struct {
	Name, After string
	Done        bool
}

// showTransfer takes the timeline from the register, which knows more than the status of a transfer that is young.
func showTransfer(transfer *v1alpha1.StreamTransfer, register *v1alpha1.StreamStatus, now time.Time) transferRow {
	status := transfer.Status
	if register != nil {
		switch pending, last := register.PendingTransfer, register.LastTransfer; {
		case pending != nil && pending.UID == transfer.UID:
			status.Source, status.AcceptedAt = pending.Source, &pending.AcceptedAt
		case last != nil && last.UID == transfer.UID:
			status.Source, status.AcceptedAt, status.CommittedAt = last.Source, &last.AcceptedAt, &last.CommittedAt
			status.StoppedAt, status.ClosedAt = last.StoppedAt, last.ClosedAt
		}
	}
	row := transferRow{
		Name: transfer.Namespace + "/" + transfer.Name, Stream: transfer.Spec.Stream, Source: status.Source, Target: transfer.Spec.Target,
		Cause: causeOf(transfer), Age: ago(transfer.CreationTimestamp.Time, now), WaitsFor: status.WaitingFor,
	}
	before := transfer.CreationTimestamp.Time
	for _, taken := range []struct {
		name string
		at   *metav1.MicroTime
	}{
		{"accepted", status.AcceptedAt}, {"stopped", status.StoppedAt}, {"flushed", status.ClosedAt},
		{"committed", status.CommittedAt}, {"open", status.OpenedAt},
	} {
		s := step{Name: taken.name}
		if taken.at != nil {
			s.Done, s.After = true, "+"+length(taken.at.Sub(before))
			before = taken.at.Time
		}
		row.Steps = append(row.Steps, s)
	}
	return row
}

func causeOf(transfer *v1alpha1.StreamTransfer) string {
	if cause := transfer.Labels[v1alpha1.LabelCause]; cause != "" {
		return cause
	}
	return "User"
}

// endedRow is a transfer that has ended. Drain, Commit and Open are the parts of its window as shares of barWidth.
type endedRow struct {
	Name, Stream, Source, Target, Cause, Ended, Phase, Reason, Window string
	Bar                                                               []part
}

// part of a window, as a rectangle in a picture of barWidth units.
type part struct {
	Kind, Title string
	X, Width    int64
}

// barWidth is how wide the picture of a window is.
const barWidth = 120

func showEnded(transfer *v1alpha1.StreamTransfer, now time.Time) endedRow {
	status := &transfer.Status
	reconciling, _ := condition.Get(status.Conditions, v1alpha1.ConditionReconciling)
	row := endedRow{
		Name: transfer.Namespace + "/" + transfer.Name, Stream: transfer.Spec.Stream, Source: status.Source, Target: transfer.Spec.Target,
		Cause: causeOf(transfer), Ended: ago(handoff.EndedAt(transfer), now), Phase: string(status.Phase), Reason: reconciling.Reason,
	}
	if status.Window == nil || status.StoppedAt == nil || status.ClosedAt == nil || status.CommittedAt == nil || status.OpenedAt == nil {
		return row
	}
	row.Window = length(status.Window.Duration)
	moments := []*metav1.MicroTime{status.StoppedAt, status.ClosedAt, status.CommittedAt, status.OpenedAt}
	whole, x := max(status.Window.Duration, 1), int64(0)
	for i, kind := range []string{"drain", "commit", "open"} {
		took := max(moments[i+1].Sub(moments[i].Time), 0)
		width := min(int64(took)*barWidth/int64(whole), barWidth-x) // clocks may differ: never beyond the picture
		row.Bar = append(row.Bar, part{Kind: kind, Title: kind + " " + length(took), X: x, Width: width})
		x += width
	}
	return row
}

// rebalanceRow is a rebalance.
type rebalanceRow struct {
	Name, Phase, Message, Age, Next              string
	Planned, Settled, Succeeded, Skipped, Failed int32
}

func showRebalance(rebalance *v1alpha1.StreamRebalance, now time.Time) rebalanceRow {
	status := &rebalance.Status
	ready, _ := condition.Get(status.Conditions, v1alpha1.ConditionReady)
	row := rebalanceRow{
		Name: rebalance.Namespace + "/" + rebalance.Name, Phase: string(status.Phase), Message: ready.Message,
		Age: ago(rebalance.CreationTimestamp.Time, now), Planned: status.Planned,
	}
	if run := status.Run; run != nil {
		row.Settled, row.Succeeded, row.Skipped, row.Failed = run.Settled, run.Succeeded, run.Skipped, run.Failed
	}
	if status.NextRun != nil {
		row.Next = in(status.NextRun.Time, now)
	}
	return row
}

// length is a duration as people read it: two units at most.
func length(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + length(-d)
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d", int(d.Hours())/24)
}

// ago is how long ago a moment was; one in the future, by another clock, is now.
func ago(moment, now time.Time) string {
	if moment.IsZero() {
		return ""
	}
	return length(max(now.Sub(moment), 0).Truncate(time.Second))
}

// in is how far ahead a moment is.
func in(moment, now time.Time) string { return length(max(moment.Sub(now), 0).Truncate(time.Second)) }
