package streamtransfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/crashpoint"
	"github.com/streamshift/streamshift/internal/handoff"
)

// errDecideAgain tells that something changed between looking and acting.
var errDecideAgain = errors.New("the transfer or its target changed meanwhile")

// errSettled tells that the outcome of the stream's last transfer was just recorded. No event of this transfer follows
// from that: it is decided again once the cache shows it.
var errSettled = errors.New("the outcome of the last transfer was recorded")

// act has exactly one effect.
func (r *Reconciler) act(ctx context.Context, view handoff.TransferView, decision handoff.TransferDecision) error {
	switch decision.Action {
	case handoff.TransferWait:
		return r.reportProgress(ctx, view, decision)
	case handoff.TransferAccept:
		return r.accept(ctx, view)
	case handoff.TransferWithdraw:
		return r.withdraw(ctx, view, decision)
	case handoff.TransferTakeOver:
		return r.takeOver(ctx, view)
	case handoff.TransferSettleLast:
		return r.settleLast(ctx, view)
	case handoff.TransferSucceed:
		return r.recordOutcome(ctx, view, decision)
	case handoff.TransferFail, handoff.TransferCancel:
		return r.recordUnlessOtherwise(ctx, view, decision)
	case handoff.TransferFinished:
		if view.Transfer.Status.ObservedGeneration != view.Transfer.Generation {
			return r.observeGeneration(ctx, view.Transfer)
		}
		return r.collect(ctx, view)
	}
	panic("unknown action " + decision.Action.String())
}

// accept proposes the pending record. The transfer is read from the API server after the register was read, and decided
// on once more: one that ended meanwhile must not come back to life, and the register's epoch is tested by the step.
func (r *Reconciler) accept(ctx context.Context, view handoff.TransferView) error {
	begun := r.Now()
	fresh := &v1alpha1.StreamTransfer{}
	switch err := r.Live.Get(ctx, client.ObjectKeyFromObject(view.Transfer), fresh); {
	case apierrors.IsNotFound(err):
		return errDecideAgain
	case err != nil:
		return fmt.Errorf("reading the transfer afresh: %w", err)
	}
	if fresh.UID != view.Transfer.UID || !fresh.DeletionTimestamp.IsZero() {
		return errDecideAgain
	}
	crashpoint.Pass(crashpoint.TransferReadAfresh)
	view.Transfer = fresh
	if decision := handoff.DecideTransfer(view); decision.Action != handoff.TransferAccept {
		return errDecideAgain
	}
	if !r.Slots.Reserve(view.Stream.UID, view.Target.Name, int(view.Target.Spec.Slots)) {
		return errors.Join(errDecideAgain, r.learn(ctx, view.Stream))
	}
	updated, err := r.propose(ctx, view.Stream, handoff.Accept(view.Stream, fresh, metav1.NewMicroTime(r.Now())))
	if err != nil {
		// It may have been taken, now or by an attempt before: the slot counts until the register is known.
		r.Slots.Doubt(view.Stream.UID)
		return errors.Join(err, r.learn(ctx, view.Stream))
	}
	r.Slots.Release(view.Stream.UID)
	r.traceStep(fresh, "accept", begun)
	ctrl.LoggerFrom(ctx).Info("Accepted transfer", "source", updated.Status.Node, "epoch", updated.Status.Epoch)
	return nil
}

// learn reads the register of a stream afresh where the outcome of the last step on it is in doubt.
func (r *Reconciler) learn(ctx context.Context, stream *v1alpha1.Stream) error {
	fresh, err := r.Slots.LearnLive(ctx, r.Live, stream)
	if fresh != nil {
		r.Views.Wrote(fresh)
	}
	return err //nolint:wrapcheck // says what it was doing
}

func (r *Reconciler) withdraw(ctx context.Context, view handoff.TransferView, decision handoff.TransferDecision) error {
	updated, err := r.propose(ctx, view.Stream, handoff.Withdraw(view.Stream, metav1.NewMicroTime(r.Now())))
	if err != nil {
		return err
	}
	r.Events.Eventf(updated, view.Transfer, corev1.EventTypeNormal, "TransferWithdrawn", "Withdraw",
		"Withdrew transfer %s: %s", view.Transfer.Name, decision.Message)
	ctrl.LoggerFrom(ctx).Info("Withdrew transfer", "source", updated.Status.Node, "epoch", updated.Status.Epoch, "reason", decision.Message)
	return nil
}

// takeOver completes the transfer in place of its source. Whether the source still runs does not matter: from the
// target's opening on it can acknowledge nothing.
func (r *Reconciler) takeOver(ctx context.Context, view handoff.TransferView) error {
	begun, source := r.Now(), view.Stream.Status.PendingTransfer.Source
	updated, err := r.propose(ctx, view.Stream, handoff.TakeOver(view.Stream, metav1.NewMicroTime(r.Now())))
	if err != nil {
		return err
	}
	r.traceStep(view.Transfer, "take over", begun)
	r.Events.Eventf(updated, view.Transfer, corev1.EventTypeWarning, v1alpha1.ReasonTakenOver, "TakeOver",
		"Took the stream over from %s for %s", source, updated.Status.Node)
	ctrl.LoggerFrom(ctx).Info("Took stream over", "source", source, "epoch", updated.Status.Epoch)
	return nil
}

// settleLast records the outcome of the stream's last transfer.
func (r *Reconciler) settleLast(ctx context.Context, view handoff.TransferView) error {
	last, err := r.lastTransfer(ctx, view.Stream)
	if err != nil || last == nil {
		return err
	}
	lastView := view
	lastView.Transfer = last
	_, fails := handoff.OpeningFails(view.Stream)
	lastView.Superseded = view.SourceGone || fails || handoff.OpeningOverdue(view.Stream, r.OpenWithin, view.Now)
	switch decision := handoff.DecideTransfer(lastView); decision.Action {
	case handoff.TransferSucceed:
		if err := r.recordOutcome(ctx, lastView, decision); err != nil {
			return err
		}
		return errSettled
	case handoff.TransferFail:
		// The owner may have opened it a moment ago, after all.
		if err := r.recordUnlessOtherwise(ctx, lastView, decision); err != nil {
			return err
		}
		return errSettled
	case handoff.TransferCancel, handoff.TransferWait, handoff.TransferAccept, handoff.TransferWithdraw,
		handoff.TransferTakeOver, handoff.TransferSettleLast, handoff.TransferFinished:
	}
	return errDecideAgain
}

// recordOutcome makes the transfer terminal.
func (r *Reconciler) recordOutcome(ctx context.Context, view handoff.TransferView, decision handoff.TransferDecision) error {
	updated, err := r.writeStatus(ctx, view, decision)
	if err != nil {
		return err
	}
	kind := corev1.EventTypeNormal
	if decision.Action == handoff.TransferFail {
		kind = corev1.EventTypeWarning
	}
	ready, _ := condition.Get(updated.Status.Conditions, v1alpha1.ConditionReady)
	r.Events.Eventf(updated, view.Stream, kind, decision.Reason, "Transfer", "%s", ready.Message)
	r.Metrics.ended(updated)
	r.traceEnded(updated, decision.Reason)
	ctrl.LoggerFrom(ctx).Info("Ended transfer", "transfer", updated.Name, "phase", string(updated.Status.Phase),
		"reason", decision.Reason, "message", ready.Message)
	return nil
}

// recordUnlessOtherwise makes the transfer terminal without a move, or without an opening, where the register, read afresh, does not say
// otherwise: an accept whose answer was lost may have been taken, and a view that is behind may hide it.
func (r *Reconciler) recordUnlessOtherwise(ctx context.Context, view handoff.TransferView, decision handoff.TransferDecision) error {
	fresh := &v1alpha1.Stream{}
	switch err := r.Live.Get(ctx, client.ObjectKey{Namespace: view.Transfer.Namespace, Name: view.Transfer.Spec.Stream}, fresh); {
	case apierrors.IsNotFound(err):
		view.Stream = nil
	case err != nil:
		return fmt.Errorf("reading the stream afresh: %w", err)
	default:
		r.Views.Wrote(fresh)
		view.Stream = fresh
	}
	if again := handoff.DecideTransfer(view); again.Action != decision.Action || again.Reason != decision.Reason {
		return errDecideAgain
	}
	return r.recordOutcome(ctx, view, decision)
}

// reportProgress says what a transfer waits for, once it has waited for a while.
func (r *Reconciler) reportProgress(ctx context.Context, view handoff.TransferView, decision handoff.TransferDecision) error {
	patience := progressAfter
	if view.Transfer.Labels[v1alpha1.LabelCause] != "" {
		patience = progressOfOwnAfter
	}
	if view.Now.Sub(view.Transfer.CreationTimestamp.Time) < patience+time.Second { // creation is in whole seconds
		return nil
	}
	_, err := r.writeStatus(ctx, view, decision)
	return err
}

// writeStatus writes the status where it changes, and returns the transfer as it is then. The test of the object's
// version keeps a decision about an old version from overwriting what was decided since.
func (r *Reconciler) writeStatus(ctx context.Context, view handoff.TransferView, decision handoff.TransferDecision) (*v1alpha1.StreamTransfer, error) {
	next := handoff.TransferStatus(view.Transfer, view.Stream, decision, metav1.NewMicroTime(r.Now()))
	if equality.Semantic.DeepEqual(next, view.Transfer.Status) {
		return view.Transfer, nil
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": view.Transfer.ResourceVersion},
		{"op": "add", "path": "/status", "value": next},
	})
	if err != nil {
		return nil, fmt.Errorf("encoding the status: %w", err)
	}
	updated := view.Transfer.DeepCopy()
	crashpoint.Pass(crashpoint.TransferStatusBefore)
	err = r.Client.Status().Patch(ctx, updated, client.RawPatch(types.JSONPatchType, patch))
	crashpoint.Pass(crashpoint.TransferStatusAfter)
	switch {
	case apierrors.IsInvalid(err), apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil, errDecideAgain // the view is behind: the watch delivers the version that is not
	case err != nil:
		return nil, fmt.Errorf("writing the status: %w", err)
	}
	r.Written.Wrote(updated)
	return updated, nil
}

// observeGeneration says of a finished transfer that its present spec has been seen: what may still change of it changes no
// outcome, and who waits for it must not wait for ever.
func (r *Reconciler) observeGeneration(ctx context.Context, transfer *v1alpha1.StreamTransfer) error {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/generation", "value": transfer.Generation},
		{"op": "replace", "path": "/status/observedGeneration", "value": transfer.Generation},
	})
	if err != nil {
		return fmt.Errorf("encoding the observed generation: %w", err)
	}
	err = r.Client.Status().Patch(ctx, transfer.DeepCopy(), client.RawPatch(types.JSONPatchType, patch))
	switch {
	case apierrors.IsInvalid(err), apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return errDecideAgain
	case err != nil:
		return fmt.Errorf("writing the observed generation: %w", err)
	}
	return nil
}

// collect deletes a transfer whose time after its end is over, where its user asked for that.
func (r *Reconciler) collect(ctx context.Context, view handoff.TransferView) error {
	transfer := view.Transfer
	ttl := transfer.Spec.TTLSecondsAfterFinished
	if ttl == nil || view.Now.Before(handoff.EndedAt(transfer).Add(time.Duration(*ttl)*time.Second)) {
		return nil
	}
	err := r.Client.Delete(ctx, transfer, client.Preconditions{UID: &transfer.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the finished transfer: %w", err)
	}
	return nil
}

func (r *Reconciler) propose(ctx context.Context, stream *v1alpha1.Stream, step handoff.Step) (*v1alpha1.Stream, error) {
	updated, err := register.Propose(ctx, r.Client, stream, step)
	if err != nil {
		return nil, err
	}
	r.Views.Wrote(updated)
	r.Slots.Answer(updated)
	return updated, nil
}
