package rebalance

import (
	"fmt"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/transfers"
	"github.com/streamshift/streamshift/internal/condition"
)

// outcome of a move.
type outcome int

const (
	// toStart: nothing has happened yet, and it may begin.
	toStart outcome = iota + 1
	// waits: nothing has happened yet, and something else is under way with the stream.
	waits
	// underWay: its transfer is made and has not ended.
	underWay
	succeeded
	// skipped: the stream, or its target, is not as it was when the plan was made.
	skipped
	failed
)

func (o outcome) settled() bool { return o == succeeded || o == skipped || o == failed }

// result is a move's outcome, and why.
type result struct {
	outcome outcome
	reason  string
	message string
}

// moveView is what a move is judged by.
type moveView struct {
	move v1alpha1.RebalanceMove
	// stream of its name; nil where there is none.
	stream *v1alpha1.Stream
	// transfer of the name that the move's transfer has; nil where there is none.
	transfer *v1alpha1.StreamTransfer
	// target of the move; nil where it is not registered.
	target *v1alpha1.StreamNode
	// targetUsed are its slots that are taken.
	targetUsed int
}

// judge is pure.
func judge(v *moveView, planHash string) result {
	if v.transfer != nil && v.transfer.Labels[v1alpha1.LabelPlan] == planHash {
		return ofTransfer(v.transfer)
	}
	move, stream := &v.move, v.stream
	if stream == nil || stream.UID != move.StreamUID || !stream.DeletionTimestamp.IsZero() {
		return result{skipped, v1alpha1.ReasonStreamDeleted, "the stream was deleted"}
	}
	register := &stream.Status
	name := transfers.Name(stream.Name, move.Epoch, v1alpha1.CauseRebalance)
	if last := register.LastTransfer; last != nil && last.Name == name && last.ClosedEpoch == move.Epoch {
		return result{outcome: succeeded} // its transfer was made, ended, and was deleted since
	}
	switch {
	case register.Node != move.Source || register.Epoch != move.Epoch:
		return result{skipped, v1alpha1.ReasonStreamMovedOn, fmt.Sprintf(
			"node %s owns the stream at epoch %d; the plan was made at epoch %d of node %s", register.Node, register.Epoch, move.Epoch, move.Source)}
	case stream.Spec.NodeName != "":
		return result{skipped, v1alpha1.ReasonPinned, fmt.Sprintf("spec.nodeName names node %s since", stream.Spec.NodeName)}
	case register.PendingTransfer != nil:
		return result{waits, v1alpha1.ReasonWaiting, fmt.Sprintf("transfer %s is pending", register.PendingTransfer.Name)}
	}
	return ofTarget(v)
}

func ofTransfer(transfer *v1alpha1.StreamTransfer) result {
	ready, _ := condition.Get(transfer.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case condition.IsTrue(transfer.Status.Conditions, v1alpha1.ConditionReady):
		return result{outcome: succeeded}
	case !condition.IsTrue(transfer.Status.Conditions, v1alpha1.ConditionStalled):
		return result{outcome: underWay}
	}
	switch ready.Reason {
	case v1alpha1.ReasonEpochMismatch, v1alpha1.ReasonSourceMismatch, v1alpha1.ReasonStreamDeleted, v1alpha1.ReasonStreamNotFound,
		v1alpha1.ReasonStreamTransferring, v1alpha1.ReasonTargetUnavailable, v1alpha1.ReasonTargetFull, v1alpha1.ReasonTargetNotFound:
		return result{skipped, ready.Reason, ready.Message} // somebody else was first, or the cluster is not what it was
	}
	return result{failed, ready.Reason, ready.Message}
}

func ofTarget(v *moveView) result {
	if v.target == nil {
		return result{skipped, v1alpha1.ReasonTargetNotFound, fmt.Sprintf("target node %s is not registered any more", v.move.Target)}
	}
	if unfit := condition.NodeUnfit(v.target); unfit != "" {
		return result{skipped, v1alpha1.ReasonTargetUnavailable, fmt.Sprintf("target node %s %s", v.move.Target, unfit)}
	}
	if v.targetUsed >= int(v.target.Spec.Slots) {
		return result{skipped, v1alpha1.ReasonTargetFull, fmt.Sprintf(
			"target node %s has no free slot: %d of %d are taken", v.move.Target, v.targetUsed, v.target.Spec.Slots)}
	}
	return result{outcome: toStart}
}
