package kubectlstream

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

// sight is what a stream is described from.
type sight struct {
	stream *v1alpha1.Stream
	// owner is the node that owns the stream; nil where it has none, or that is not registered any more.
	owner *v1alpha1.StreamNode
	// open are the transfers of the stream that have not ended.
	open []v1alpha1.StreamTransfer
	now  time.Time
}

// row is one line of a description.
type row struct{ label, text string }

// describe tells who owns a stream, since when, and what it waits for.
func describe(s sight) []row {
	status := &s.stream.Status
	rows := []row{{"Stream", s.stream.Namespace + "/" + shownName(s.stream.Name)}}
	if shown := shownName(s.stream.Name); shown != s.stream.Name {
		rows = append(rows, row{"Object", s.stream.Name})
	}
	rows = append(rows, row{"Owner", ownerText(s)})
	if status.Node != "" {
		rows = append(rows, row{"Epoch", fmt.Sprint(status.Epoch)}, row{"State", stateText(status, s.now)})
	}
	if pending := status.PendingTransfer; pending != nil {
		rows = append(rows, row{"In transfer", fmt.Sprintf("to %s, by %s, accepted %s ago", pending.Target, pending.Name, ago(pending.AcceptedAt, s.now))})
	}
	if last := status.LastTransfer; last != nil {
		rows = append(rows, row{"Last transfer", lastText(last, status, s.now)})
	}
	waits := waitsFor(s)
	rows = append(rows, row{"Waits for", waits[0]})
	for _, more := range waits[1:] {
		rows = append(rows, row{"and for", more})
	}
	return rows
}

func ownerText(s sight) string {
	name := s.stream.Status.Node
	switch {
	case name == "":
		return none + ", it is not placed yet"
	case s.owner == nil:
		return name + ", which is not registered any more"
	case condition.NodeGone(s.owner):
		return name + ", which is gone: " + whyNot(s.owner.Status.Conditions, v1alpha1.ConditionReady)
	case !condition.IsTrue(s.owner.Status.Conditions, v1alpha1.ConditionReady):
		return name + ", which is not ready: " + whyNot(s.owner.Status.Conditions, v1alpha1.ConditionReady)
	case condition.IsTrue(s.owner.Status.Conditions, v1alpha1.ConditionDraining):
		return name + ", which is drained"
	}
	return name
}

func stateText(status *v1alpha1.StreamStatus, now time.Time) string {
	switch status.State {
	case v1alpha1.StreamOpen:
		if status.OpenedAt == nil {
			return "Open"
		}
		return fmt.Sprintf("Open for %s (since %s)", ago(*status.OpenedAt, now), status.OpenedAt.UTC().Format(time.RFC3339))
	case v1alpha1.StreamOpening, v1alpha1.StreamClosed:
	}
	return orNone(string(status.State))
}

func lastText(last *v1alpha1.LastTransfer, status *v1alpha1.StreamStatus, now time.Time) string {
	text := fmt.Sprintf("%s to %s, by %s, %s ago", last.Source, last.Target, last.Name, ago(last.CommittedAt, now))
	if last.Forced {
		text += ", taken over"
	}
	// The target's own opening follows the completion at the next epoch; later ones are not of this transfer.
	if opened := status.OpenedAt; last.StoppedAt != nil && opened != nil && status.Epoch == last.ClosedEpoch+1 {
		text += fmt.Sprintf("; appends waited %s", opened.Sub(last.StoppedAt.Time).Round(time.Millisecond))
	}
	return text
}

// waitsFor has a sentence for everything that the stream waits for, at least one.
func waitsFor(s sight) []string {
	var waits []string
	if !s.stream.DeletionTimestamp.IsZero() {
		waits = append(waits, "its log to be removed from the object store: the stream is being deleted")
	}
	for i := range s.open {
		transfer := &s.open[i]
		waits = append(waits, fmt.Sprintf("transfer %s to %s: %s", transfer.Name, transfer.Spec.Target, waitingText(transfer)))
	}
	ready, found := condition.Get(s.stream.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case len(waits) > 0: // not ready because of that
	case !found:
		waits = append(waits, "the manager, which has not looked at it yet")
	case ready.Status != metav1.ConditionTrue:
		waits = append(waits, fmt.Sprintf("%s (%s)", strings.TrimSuffix(ready.Message, "."), ready.Reason))
	}
	if len(waits) == 0 {
		return []string{"nothing"}
	}
	return waits
}

// waitingText is what a transfer that has not ended waits for now.
func waitingText(transfer *v1alpha1.StreamTransfer) string {
	ready, _ := condition.Get(transfer.Status.Conditions, v1alpha1.ConditionReady)
	return cmp.Or(transfer.Status.WaitingFor, strings.TrimSuffix(ready.Message, "."), "the manager to look at it")
}

func ago(since metav1.MicroTime, now time.Time) string {
	return duration.HumanDuration(now.Sub(since.Time))
}
