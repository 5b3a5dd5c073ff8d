package admission

import (
	"fmt"
	"time"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

// Refusal says why a transfer is not accepted: a condition reason, and one clear sentence that says what to do.
type Refusal struct {
	Reason  string
	Message string
}

// View is what a transfer is judged by.
type View struct {
	Transfer *v1alpha1.StreamTransfer
	// Stream that the transfer names; nil where there is none.
	Stream *v1alpha1.Stream
	// Target that the transfer names; nil where it is not registered.
	Target *v1alpha1.StreamNode
	// TargetUsed is the number of the target's slots that are taken: streams it owns, and pending transfers to it.
	TargetUsed int
}

// Transfer returns why the transfer cannot be accepted now, or nil where it can, or where it has nothing to do: the
// stream is on its target already, or a pending transfer takes it there. A stream that has no owner yet is no reason
// for a refusal: the transfer waits for it.
func Transfer(view View) *Refusal {
	transfer, stream := view.Transfer, view.Stream
	if stream == nil {
		return &Refusal{v1alpha1.ReasonStreamNotFound, fmt.Sprintf(
			"stream %q does not exist in namespace %q: create it first, or correct spec.stream", transfer.Spec.Stream, transfer.Namespace)}
	}
	if !stream.DeletionTimestamp.IsZero() {
		return &Refusal{v1alpha1.ReasonStreamDeleted, fmt.Sprintf("stream %q is being deleted", stream.Name)}
	}
	if pending := stream.Status.PendingTransfer; pending != nil {
		return conflict(transfer, pending)
	}
	if stream.Status.Node == transfer.Spec.Target {
		return nil
	}
	if refusal := preconditions(transfer, stream); refusal != nil {
		return refusal
	}
	return target(view)
}

func conflict(transfer *v1alpha1.StreamTransfer, pending *v1alpha1.PendingTransfer) *Refusal {
	if pending.Target == transfer.Spec.Target {
		return nil
	}
	return &Refusal{v1alpha1.ReasonStreamTransferring, fmt.Sprintf(
		"stream %q is already transferring: transfer %q takes it to node %q since %s; wait until it ends, or cancel it",
		transfer.Spec.Stream, pending.Name, pending.Target, pending.AcceptedAt.UTC().Format(time.RFC3339))}
}

func preconditions(transfer *v1alpha1.StreamTransfer, stream *v1alpha1.Stream) *Refusal {
	if stream.Status.Node == "" {
		return nil
	}
	if source := transfer.Spec.Source; source != "" && source != stream.Status.Node {
		return &Refusal{v1alpha1.ReasonSourceMismatch, fmt.Sprintf(
			"stream %q is owned by node %q, not by spec.source %q: nothing is transferred", stream.Name, stream.Status.Node, source)}
	}
	if expected := transfer.Spec.ExpectedEpoch; expected != nil && *expected != stream.Status.Epoch {
		return &Refusal{v1alpha1.ReasonEpochMismatch, fmt.Sprintf(
			"stream %q is at epoch %d, not at spec.expectedEpoch %d: it was opened anew since the transfer was written, and nothing is transferred",
			stream.Name, stream.Status.Epoch, *expected)}
	}
	return nil
}

func target(view View) *Refusal {
	name := view.Transfer.Spec.Target
	if view.Target == nil {
		return &Refusal{v1alpha1.ReasonTargetNotFound, fmt.Sprintf(
			"target node %q is not registered: \"kubectl get streamnodes\" lists the nodes that are", name)}
	}
	if !view.Target.DeletionTimestamp.IsZero() {
		return &Refusal{v1alpha1.ReasonTargetUnavailable, fmt.Sprintf("target node %q is being removed", name)}
	}
	conditions := view.Target.Status.Conditions
	if !condition.IsTrue(conditions, v1alpha1.ConditionReady) {
		return &Refusal{v1alpha1.ReasonTargetUnavailable, fmt.Sprintf("target node %q is not ready: %s", name, why(view.Target, v1alpha1.ConditionReady))}
	}
	if view.Target.Spec.Unschedulable {
		return &Refusal{v1alpha1.ReasonTargetUnavailable, fmt.Sprintf("target node %q takes no streams: its spec.unschedulable is set", name)}
	}
	if !condition.IsTrue(conditions, v1alpha1.ConditionSchedulable) {
		return &Refusal{v1alpha1.ReasonTargetUnavailable, fmt.Sprintf("target node %q takes no streams: %s", name, why(view.Target, v1alpha1.ConditionSchedulable))}
	}
	if slots := int(view.Target.Spec.Slots); view.TargetUsed >= slots {
		return &Refusal{v1alpha1.ReasonTargetFull, fmt.Sprintf(
			"target node %q has no free slot: %d of %d are taken; choose another node, or raise spec.slots of the StreamNode", name, view.TargetUsed, slots)}
	}
	return nil
}

func why(node *v1alpha1.StreamNode, conditionType string) string {
	if c, found := condition.Get(node.Status.Conditions, conditionType); found {
		return c.Message
	}
	return "the manager has not looked at it yet; try again in a moment"
}
