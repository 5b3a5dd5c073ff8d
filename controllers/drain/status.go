package drain

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/controllers/transfers"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/placement"
)

// fieldOwner is the field manager of the part of a node's status that tells of its drain.
const fieldOwner = client.FieldOwner("streamshift-drain")

// reportEvery is how often progress is written at most where nothing but the numbers changes.
const reportEvery = time.Second

// maxBlockers is how many blockers are named; the others are counted.
const maxBlockers = 10

// report writes how far a drain is, where that changed: conditions at once, counters at most once a second.
func (r *Reconciler) report(ctx context.Context, v *view, n *nodeView, blocked []placement.Blocker) error {
	if n.missing {
		return nil // there is no object to tell it on
	}
	old := &n.node.Status
	r.Metrics.report(n, blocked, v.shares[n.node.Name], r.Limits.PerTarget)
	if !n.leaves() && old.Drain == nil && !condition.IsTrue(old.Conditions, v1alpha1.ConditionDraining) {
		return nil
	}
	progress, set := progressOf(v, n, blocked), conditionsOf(n, blocked)
	merged := condition.Merge(old.Conditions, n.node.Generation, metav1.NewTime(v.now.Truncate(time.Second)), set...)
	sameConditions := equality.Semantic.DeepEqual(old.Conditions, merged)
	if sameConditions && (equality.Semantic.DeepEqual(old.Drain, progress) || v.now.Sub(r.reported[n.node.Name]) < reportEvery) {
		return nil // a pass is made at least every lookAgain while streams leave: what is left out now is written then
	}
	fields := map[string]any{}
	if progress != nil {
		encoded, err := runtime.DefaultUnstructuredConverter.ToUnstructured(progress)
		if err != nil {
			return fmt.Errorf("encoding the progress of a drain: %w", err)
		}
		fields["drain"] = encoded
	}
	written, err := register.ApplyNodeStatus(ctx, r.Client, fieldOwner, n.node, fields, condition.Only(merged, set))
	if err != nil {
		return err //nolint:wrapcheck // says what it was doing
	}
	r.Nodes.Wrote(written)
	r.wroteReport(n, v.now)
	r.tellChanges(ctx, n.node, set)
	r.tellLate(n.node, progress)
	return nil
}

// wroteReport remembers when a node's progress was written, for as long as streams are to leave it.
func (r *Reconciler) wroteReport(n *nodeView, now time.Time) {
	if r.reported == nil {
		r.reported = map[string]time.Time{}
	}
	r.reported[n.node.Name] = now
	if !n.leaves() {
		delete(r.reported, n.node.Name)
	}
}

// progressOf counts; nil where no stream is to leave.
func progressOf(v *view, n *nodeView, blocked []placement.Blocker) *v1alpha1.DrainStatus {
	if !n.leaves() {
		return nil
	}
	remaining := int32(len(n.streams)) //nolint:gosec // bounded by the number of streams
	progress := &v1alpha1.DrainStatus{StartedAt: metav1.NewTime(v.now.Truncate(time.Second)), Total: remaining, Remaining: remaining}
	if before := n.node.Status.Drain; before != nil {
		progress.StartedAt, progress.Total = before.StartedAt, max(before.Total, remaining)
	}
	progress.Moved = progress.Total - remaining
	progress.Failed = failedOf(v, n)
	progress.Blocked = int32(len(blocked)) //nolint:gosec // as above
	progress.EstimatedEnd, progress.Late = estimate(v.now, progress, n.node.Status.StopsAt)
	for i, blocker := range blocked {
		if i == maxBlockers {
			break
		}
		progress.Blockers = append(progress.Blockers, v1alpha1.DrainBlocker{Stream: blocker.Stream, Reason: blocker.Reason, Message: limited(blocker.Message)})
	}
	return progress
}

// failedOf counts the streams of a node whose last transfer, of the name that the next one will have, failed.
func failedOf(v *view, n *nodeView) (count int32) {
	for i := range n.streams {
		stream := &n.streams[i]
		for _, cause := range []string{v1alpha1.CauseDrain, v1alpha1.CauseTakeover} {
			if v.failed[stream.Namespace+"/"+transfers.Name(stream.Name, stream.Status.Epoch, cause)] {
				count++
			}
		}
	}
	return count
}

// usualPace is how many streams are taken to leave in a second before any has: what a small machine does.
const usualPace = 50

// estimate returns when the streams that can leave will have left, and how many will not have by the time the agent ends.
func estimate(now time.Time, progress *v1alpha1.DrainStatus, stopsAt *metav1.Time) (end *metav1.Time, late int32) {
	leaving := progress.Remaining - progress.Blocked
	elapsed := now.Sub(progress.StartedAt.Time)
	pace := float64(usualPace)
	if progress.Moved > 0 && elapsed > 0 {
		pace = float64(progress.Moved) / elapsed.Seconds()
		if leaving > 0 {
			end = &metav1.Time{Time: now.Add(time.Duration(float64(leaving) / pace * float64(time.Second))).Truncate(time.Second)}
		}
	}
	if stopsAt != nil {
		inTime := int32(max(0, stopsAt.Sub(now).Seconds()) * pace)
		late = max(0, progress.Remaining-min(leaving, inTime))
	}
	return end, late
}

const maxBlockerMessage = 512

func limited(message string) string { return message[:min(len(message), maxBlockerMessage)] }

// conditionsOf says how a drain stands.
func conditionsOf(n *nodeView, blocked []placement.Blocker) []condition.Condition {
	if !n.leaves() {
		const message = "Streams need not leave the node."
		return []condition.Condition{
			condition.False(v1alpha1.ConditionDraining, v1alpha1.ReasonNotDraining, message),
			condition.False(v1alpha1.ConditionDrained, v1alpha1.ReasonNotDraining, message),
			condition.False(v1alpha1.ConditionDrainBlocked, v1alpha1.ReasonNotDraining, message),
		}
	}
	drained := condition.False(v1alpha1.ConditionDrained, v1alpha1.ReasonStreamsRemain, "Streams are still to leave the node.")
	// What the register says is not enough: the node itself must have closed its sessions, unless it is gone.
	if len(n.streams) == 0 && (!n.node.Status.HoldsSessions || n.gone) {
		drained = condition.True(v1alpha1.ConditionDrained, v1alpha1.ReasonEmpty, "The node holds no stream.")
	}
	isBlocked := condition.False(v1alpha1.ConditionDrainBlocked, v1alpha1.ReasonNotBlocked, "Every stream that remains can leave.")
	if len(blocked) > 0 {
		isBlocked = condition.True(v1alpha1.ConditionDrainBlocked, blocked[0].Reason,
			fmt.Sprintf("%d streams cannot leave; the first is %s: %s.", len(blocked), blocked[0].Stream, blocked[0].Message))
	}
	return []condition.Condition{condition.True(v1alpha1.ConditionDraining, n.reason, n.message), drained, isBlocked}
}

// tellLate makes an event once it is foreseen that streams will not have left when the agent ends.
func (r *Reconciler) tellLate(node *v1alpha1.StreamNode, progress *v1alpha1.DrainStatus) {
	if progress == nil || progress.Late == 0 || node.Status.Drain != nil && node.Status.Drain.Late > 0 {
		return
	}
	r.Events.Eventf(node, nil, corev1.EventTypeWarning, "DrainWillNotFit", "Drain",
		"About %d of %d streams will not have left when the agent ends, at %s: they are taken over afterwards.",
		progress.Late, progress.Remaining, node.Status.StopsAt.UTC().Format(time.RFC3339))
}

func (r *Reconciler) tellChanges(ctx context.Context, node *v1alpha1.StreamNode, set []condition.Condition) {
	for _, c := range set {
		before, found := condition.Get(node.Status.Conditions, c.Type)
		if found && before.Status == c.Status && before.Reason == c.Reason || !found && c.Status == metav1.ConditionFalse {
			continue
		}
		kind := corev1.EventTypeNormal
		if c.Type == v1alpha1.ConditionDrainBlocked && c.Status == metav1.ConditionTrue {
			kind = corev1.EventTypeWarning
		}
		r.Events.Eventf(node, nil, kind, c.Type+string(c.Status), "Drain", "%s", c.Message)
		ctrl.LoggerFrom(ctx).Info("Drain changed", "node", node.Name, "condition", c.Type, "status", string(c.Status), "reason", c.Reason)
	}
}
