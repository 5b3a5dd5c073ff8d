package handoff

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/admission"
	"github.com/streamshift/streamshift/internal/condition"
)

// TransferAction is what the manager does next about a transfer. Each has one effect.
type TransferAction int

const (
	// TransferWait does nothing but say what the transfer waits for.
	TransferWait TransferAction = iota
	// TransferAccept proposes the pending record.
	TransferAccept
	// TransferWithdraw proposes the removal of the pending record.
	TransferWithdraw
	// TransferTakeOver proposes the completion in place of a source that is gone.
	TransferTakeOver
	// TransferSettleLast records the outcome of the stream's last transfer first: the next completion overwrites the
	// evidence of it.
	TransferSettleLast
	// TransferSucceed, TransferFail and TransferCancel record the outcome.
	TransferSucceed
	TransferFail
	TransferCancel
	// TransferFinished does nothing: the outcome is recorded.
	TransferFinished
)

// String implements fmt.Stringer.
func (a TransferAction) String() string {
	switch a {
	case TransferWait:
		return "Wait"
	case TransferAccept:
		return "Accept"
	case TransferWithdraw:
		return "Withdraw"
	case TransferTakeOver:
		return "TakeOver"
	case TransferSettleLast:
		return "SettleLast"
	case TransferSucceed:
		return "Succeed"
	case TransferFail:
		return "Fail"
	case TransferCancel:
		return "Cancel"
	case TransferFinished:
		return "Finished"
	}
	return fmt.Sprintf("TransferAction(%d)", int(a))
}

// TransferView is what a transfer is judged by.
type TransferView struct {
	admission.View
	// LastSettled tells that the outcome of the stream's last transfer is recorded in its StreamTransfer, or that
	// this one is gone.
	LastSettled bool
	// SourceGone tells that the stream's owner cannot be expected to close it: its lease has run out, or its node is
	// marked out of service. Whether it still runs does not matter for safety: the log fences it.
	SourceGone bool
	// Superseded tells that another transfer takes the stream on, since the owner is gone, cannot open it, or has tried
	// for long: the outcome of this one is recorded although the stream was not opened.
	Superseded bool
	// Now is the manager's time, for deadlines.
	Now time.Time
}

// TransferDecision is an action with its reason: one word, and one sentence for condition, event and log.
type TransferDecision struct {
	Action  TransferAction
	Reason  string
	Message string
}

// Terminal tells whether the outcome of a transfer is recorded. Such a transfer never changes again.
func Terminal(transfer *v1alpha1.StreamTransfer) bool {
	return condition.IsTrue(transfer.Status.Conditions, v1alpha1.ConditionReady) ||
		condition.IsTrue(transfer.Status.Conditions, v1alpha1.ConditionStalled)
}

// EndedAt is when the outcome of a terminal transfer was recorded, to the second.
func EndedAt(transfer *v1alpha1.StreamTransfer) time.Time {
	reconciling, _ := condition.Get(transfer.Status.Conditions, v1alpha1.ConditionReconciling)
	return reconciling.LastTransitionTime.Time
}

// DecideTransfer returns what the manager does next about a transfer. What it says of acceptance is to be decided once
// more on a transfer that was read afresh after the register was read.
func DecideTransfer(view TransferView) TransferDecision {
	if Terminal(view.Transfer) {
		return TransferDecision{TransferFinished, "", "the transfer ended"}
	}
	if view.Stream == nil {
		refusal := admission.Transfer(view.View)
		return TransferDecision{TransferFail, refusal.Reason, refusal.Message}
	}
	register := &view.Stream.Status
	if last := register.LastTransfer; last != nil && last.UID == view.Transfer.UID {
		return decideCommitted(view, last)
	}
	if pending := register.PendingTransfer; pending != nil && pending.UID == view.Transfer.UID {
		return decidePending(view, pending)
	}
	return decideNew(view)
}

// decideCommitted: the register names the target, and no cancellation can change that any more.
func decideCommitted(view TransferView, last *v1alpha1.LastTransfer) TransferDecision {
	if view.Stream.Status.State == v1alpha1.StreamOpening {
		return decideOpening(view, last)
	}
	if view.Transfer.Spec.Cancel {
		return TransferDecision{TransferSucceed, v1alpha1.ReasonTooLateToCancel, fmt.Sprintf(
			"the stream went from %s to %s; the transfer was committed before it was cancelled", last.Source, last.Target)}
	}
	if last.Forced {
		return TransferDecision{TransferSucceed, v1alpha1.ReasonTakenOver, fmt.Sprintf(
			"the stream was taken over from %s, which was gone, by %s%s", last.Source, last.Target, evidence(view.Stream.Status.OpenedLog))}
	}
	return TransferDecision{TransferSucceed, v1alpha1.ReasonSucceeded, fmt.Sprintf("the stream went from %s to %s", last.Source, last.Target)}
}

// evidence says what fences the old owner and what it cannot have added to; nothing where that is not known.
func evidence(at *v1alpha1.OpenedLog) string {
	if at == nil {
		return ""
	}
	return fmt.Sprintf(": segment %d of the log fences it, and everything that it acknowledged is below offset %d", at.Segment, at.Offset)
}

// decideOpening: the target owns the stream and has not opened it.
func decideOpening(view TransferView, last *v1alpha1.LastTransfer) TransferDecision {
	owner := view.Stream.Status.Node
	if view.Superseded {
		return TransferDecision{TransferFail, v1alpha1.ReasonNotOpened, fmt.Sprintf(
			"the stream went from %s to %s, which did not open it and gives it away again", last.Source, owner)}
	}
	if problem, fails := OpeningFails(view.Stream); fails {
		return TransferDecision{TransferWait, v1alpha1.ReasonCannotOpen, fmt.Sprintf("node %s to open the stream, which fails: %s", owner, problem)}
	}
	return TransferDecision{TransferWait, v1alpha1.ReasonCommitted, fmt.Sprintf("node %s opens the stream", owner)}
}

// OpeningFails returns what the owner says of its attempts at opening the stream, and false where it does not say that they fail.
func OpeningFails(stream *v1alpha1.Stream) (problem string, fails bool) {
	ready, _ := condition.Get(stream.Status.Conditions, v1alpha1.ConditionReady)
	return ready.Message, stream.Status.State == v1alpha1.StreamOpening && ready.Reason == v1alpha1.ReasonCannotOpen
}

// OpeningSince returns since when the owner has been trying to open the stream, and false where it is not. Where clocks
// differ it is off by that: it decides when somebody proposes something, never whether that holds.
func OpeningSince(stream *v1alpha1.Stream) (time.Time, bool) {
	register := &stream.Status
	if register.Node == "" || register.State != v1alpha1.StreamOpening {
		return time.Time{}, false
	}
	ready, found := condition.Get(register.Conditions, v1alpha1.ConditionReady)
	if !found {
		return time.Time{}, false
	}
	since := ready.LastTransitionTime.Time
	if last := register.LastTransfer; last != nil && last.CommittedAt.After(since) {
		since = last.CommittedAt.Time
	}
	return since, true
}

// OpeningOverdue tells whether the owner has been trying to open the stream for as long as within; 0: never.
func OpeningOverdue(stream *v1alpha1.Stream, within time.Duration, now time.Time) bool {
	since, opening := OpeningSince(stream)
	return opening && within > 0 && now.Sub(since) >= within
}

// decidePending: the register holds the pending record of this transfer.
func decidePending(view TransferView, pending *v1alpha1.PendingTransfer) TransferDecision {
	if ended := ending(view); ended != nil {
		return TransferDecision{TransferWithdraw, ended.Reason, ended.Message}
	}
	if unavailable := targetGone(view); unavailable != nil {
		return TransferDecision{TransferWithdraw, unavailable.Reason, unavailable.Message}
	}
	switch {
	case view.SourceGone && pending.Force:
		return TransferDecision{TransferTakeOver, v1alpha1.ReasonTakenOver, fmt.Sprintf("node %s is gone and the transfer may take over", pending.Source)}
	case view.SourceGone:
		// A record that nobody completes would keep everybody else from taking the stream over.
		return TransferDecision{TransferWithdraw, v1alpha1.ReasonSourceGone, sourceGone(pending.Source)}
	}
	return TransferDecision{TransferWait, v1alpha1.ReasonAccepted, fmt.Sprintf("node %s closes the stream", pending.Source)}
}

// decideNew: the register knows nothing of this transfer.
func decideNew(view TransferView) TransferDecision {
	if ended := ending(view); ended != nil {
		return *ended
	}
	transfer, register := view.Transfer, &view.Stream.Status
	if refusal := admission.Transfer(view.View); refusal != nil {
		return TransferDecision{TransferFail, refusal.Reason, refusal.Message}
	}
	switch pending := register.PendingTransfer; {
	case pending != nil:
		return TransferDecision{TransferWait, v1alpha1.ReasonWaiting, fmt.Sprintf(
			"transfer %s, which takes the stream to %s already", pending.Name, pending.Target)}
	case register.Node == "":
		return TransferDecision{TransferWait, v1alpha1.ReasonNotPlaced, "the stream, which has no owner yet"}
	case register.Node == transfer.Spec.Target:
		return TransferDecision{TransferSucceed, v1alpha1.ReasonAlreadyOnTarget, fmt.Sprintf("node %s owns the stream already", register.Node)}
	case view.SourceGone && !transfer.Spec.Force:
		return TransferDecision{TransferWait, v1alpha1.ReasonSourceGone, sourceGone(register.Node)}
	case !view.LastSettled:
		return TransferDecision{TransferSettleLast, v1alpha1.ReasonWaiting, fmt.Sprintf("the outcome of transfer %s", register.LastTransfer.Name)}
	}
	return TransferDecision{TransferAccept, v1alpha1.ReasonAccepted, fmt.Sprintf("the stream goes from %s to %s", register.Node, transfer.Spec.Target)}
}

func sourceGone(node string) string {
	return fmt.Sprintf("node %s, whose lease has run out, to come back; a transfer with spec.force would take the stream over", node)
}

// ending returns the outcome of a transfer that its user or its deadline ended before it was committed, or nil.
func ending(view TransferView) *TransferDecision {
	if view.Transfer.Spec.Cancel {
		return &TransferDecision{TransferCancel, v1alpha1.ReasonCancelled, "the transfer was cancelled before it was committed"}
	}
	if deadline, given := Deadline(view.Transfer); given && !view.Now.Before(deadline) {
		return &TransferDecision{TransferFail, v1alpha1.ReasonDeadlineExceeded, fmt.Sprintf(
			"the transfer was not committed within %d s of its creation", *view.Transfer.Spec.DeadlineSeconds)}
	}
	return nil
}

// targetGone judges the target of an accepted transfer. Its slot is counted already, so only its readiness matters.
func targetGone(view TransferView) *admission.Refusal {
	accepted := view.View
	accepted.Stream = view.Stream.DeepCopy()
	accepted.Stream.Status.PendingTransfer = nil
	accepted.TargetUsed = -1
	refusal := admission.Transfer(accepted)
	if refusal == nil || refusal.Reason == v1alpha1.ReasonEpochMismatch || refusal.Reason == v1alpha1.ReasonSourceMismatch {
		return nil
	}
	return refusal
}

// Deadline returns when a transfer that is not committed is withdrawn, and whether it has such a moment.
func Deadline(transfer *v1alpha1.StreamTransfer) (time.Time, bool) {
	if transfer.Spec.DeadlineSeconds == nil {
		return time.Time{}, false
	}
	return transfer.CreationTimestamp.Add(time.Duration(*transfer.Spec.DeadlineSeconds) * time.Second), true
}

// TransferStatus is the status of a transfer that a decision leads to: the timeline and the outcome, from the register.
func TransferStatus(transfer *v1alpha1.StreamTransfer, stream *v1alpha1.Stream, decision TransferDecision, now metav1.MicroTime) v1alpha1.StreamTransferStatus {
	next := *transfer.Status.DeepCopy()
	next.ObservedGeneration, next.Target, next.WaitingFor = transfer.Generation, transfer.Spec.Target, ""
	if stream != nil {
		recordTimeline(&next, transfer, stream)
	}
	conditions := append(milestones(&next), outcome(&next, decision)...)
	next.Conditions = condition.Merge(next.Conditions, transfer.Generation, second(now), conditions...)
	return next
}

// recordTimeline copies what the register knows of this transfer.
func recordTimeline(next *v1alpha1.StreamTransferStatus, transfer *v1alpha1.StreamTransfer, stream *v1alpha1.Stream) {
	register := &stream.Status
	if pending := register.PendingTransfer; pending != nil && pending.UID == transfer.UID {
		next.StreamUID, next.Source, next.AcceptedAt = stream.UID, pending.Source, pending.AcceptedAt.DeepCopy()
	}
	last := register.LastTransfer
	if last == nil || last.UID != transfer.UID {
		return
	}
	next.StreamUID, next.Source, next.Epoch, next.Forced = stream.UID, last.Source, last.ClosedEpoch, last.Forced
	next.AcceptedAt, next.CommittedAt = last.AcceptedAt.DeepCopy(), last.CommittedAt.DeepCopy()
	next.StoppedAt, next.ClosedAt = last.StoppedAt.DeepCopy(), last.ClosedAt.DeepCopy()
	if register.State == v1alpha1.StreamOpening {
		return
	}
	next.OpenedAt, next.OpenedLog = register.OpenedAt.DeepCopy(), register.OpenedLog.DeepCopy()
	if next.StoppedAt != nil && next.OpenedAt != nil {
		next.Window = &metav1.Duration{Duration: next.OpenedAt.Sub(next.StoppedAt.Time)}
	}
}

// milestones are the conditions of the steps that were made or are still to be made.
func milestones(next *v1alpha1.StreamTransferStatus) []condition.Condition {
	step := func(conditionType string, at *metav1.MicroTime, done, notYet string) condition.Condition {
		if at == nil {
			return condition.False(conditionType, v1alpha1.ReasonNotYet, notYet)
		}
		return condition.True(conditionType, v1alpha1.ReasonAsExpected, done)
	}
	closedAt := next.ClosedAt
	if closedAt == nil {
		closedAt = next.CommittedAt // a source that held no session had nothing to close
	}
	return []condition.Condition{
		step(v1alpha1.ConditionAccepted, next.AcceptedAt, "The register holds the pending record, or held it.", "The register does not hold a pending record."),
		step(v1alpha1.ConditionSourceClosed, closedAt, "The source closed the stream.", "The source has not closed the stream."),
		step(v1alpha1.ConditionCommitted, next.CommittedAt, "The register names the target.", "The register does not name the target."),
		step(v1alpha1.ConditionTargetOpened, next.OpenedAt, "The target opened the stream.", "The target has not opened the stream."),
	}
}

// outcome sets phase and waitingFor, and returns the conditions that say how the transfer stands.
func outcome(next *v1alpha1.StreamTransferStatus, decision TransferDecision) []condition.Condition {
	ready := func(phase v1alpha1.TransferPhase, ready, reconciling, stalled condition.Condition) []condition.Condition {
		next.Phase = phase
		return []condition.Condition{ready, reconciling, stalled}
	}
	reason, message := decision.Reason, sentence(decision.Message)
	notReconciling := condition.False(v1alpha1.ConditionReconciling, reason, message)
	notStalled := condition.False(v1alpha1.ConditionStalled, reason, message)
	switch decision.Action {
	case TransferSucceed:
		return ready(v1alpha1.TransferSucceeded, condition.True(v1alpha1.ConditionReady, reason, message), notReconciling, notStalled)
	case TransferFail:
		return ready(v1alpha1.TransferFailed, condition.False(v1alpha1.ConditionReady, reason, message), notReconciling,
			condition.True(v1alpha1.ConditionStalled, reason, message))
	case TransferCancel:
		return ready(v1alpha1.TransferCancelled, condition.False(v1alpha1.ConditionReady, reason, message), notReconciling,
			condition.True(v1alpha1.ConditionStalled, reason, message))
	case TransferWait, TransferAccept, TransferWithdraw, TransferTakeOver, TransferSettleLast, TransferFinished:
	}
	phase := v1alpha1.TransferPending
	if next.CommittedAt != nil {
		phase = v1alpha1.TransferOpening
	}
	next.WaitingFor = decision.Message
	message = sentence("waiting: " + decision.Message)
	return ready(phase, condition.False(v1alpha1.ConditionReady, reason, message),
		condition.True(v1alpha1.ConditionReconciling, reason, message), condition.False(v1alpha1.ConditionStalled, reason, message))
}

// sentence makes a message that was written for the middle of a line stand alone.
func sentence(message string) string {
	if message == "" {
		return message
	}
	first := message[0]
	if first >= 'a' && first <= 'z' {
		first -= 'a' - 'A'
	}
	message = string(first) + message[1:]
	if message[len(message)-1] != '.' {
		message += "."
	}
	return message
}
