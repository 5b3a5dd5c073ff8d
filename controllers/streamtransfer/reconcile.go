package streamtransfer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/controllers/slots"
	"github.com/streamshift/streamshift/internal/handoff"
	"github.com/streamshift/streamshift/internal/tracing"
)

// +kubebuilder:rbac:groups=streamshift.io,resources=streamtransfers,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=streamshift.io,resources=streamtransfers/status,verbs=patch
// +kubebuilder:rbac:groups=streamshift.io,resources=streams,verbs=get;list;watch
// +kubebuilder:rbac:groups=streamshift.io,resources=streams/status,verbs=patch
// +kubebuilder:rbac:groups=streamshift.io,resources=streamnodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler reconciles StreamTransfers on the manager.
type Reconciler struct {
	// Client reads from the cache and writes to the API server; Live reads from the API server.
	Client client.Client
	Live   client.Reader
	Views  *register.Streams
	// Written remembers the transfers' own statuses until the watch shows them.
	Written *register.Views[*v1alpha1.StreamTransfer]
	Slots   *slots.Ledger
	Events  events.EventRecorder
	Metrics *Metrics
	// Tracer records spans; nil: none.
	Tracer *tracing.Tracer
	// OpenWithin is for how long an owner may try to open a stream before another transfer may take it on; 0: for ever.
	OpenWithin time.Duration
	Now        func() time.Time
}

const (
	// retryAfter is when a step that was refused is decided again.
	retryAfter = time.Second
	// settledAfter is when a transfer is decided again after the outcome of the one before was recorded.
	settledAfter = 10 * time.Millisecond
	// progressAfter is how long a transfer may wait before its status says for what. A quiet transfer ends long before
	// and costs one write of its status.
	progressAfter = time.Second
	// progressOfOwnAfter is the same for transfers of the operator's making: there may be thousands, and hardly anybody looks at one.
	progressOfOwnAfter = 10 * time.Second
)

// Reconcile observes, decides and acts on one transfer.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	transfer := &v1alpha1.StreamTransfer{}
	if err := r.Client.Get(ctx, request.NamespacedName, transfer); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	transfer = r.Written.Newest(transfer)
	if !transfer.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	view, err := r.observe(ctx, transfer)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observing transfer %s: %w", request, err)
	}
	decision := handoff.DecideTransfer(view)
	log := ctrl.LoggerFrom(ctx, "stream", transfer.Spec.Stream, "target", transfer.Spec.Target)
	log.V(2).Info("Decided", "action", decision.Action.String(), "reason", decision.Reason, "message", decision.Message)
	err = r.act(ctrl.LoggerInto(ctx, log), view, decision)
	switch {
	case errors.Is(err, errSettled):
		return ctrl.Result{RequeueAfter: settledAfter}, nil
	case errors.Is(err, register.ErrRefused), errors.Is(err, errDecideAgain):
		log.V(1).Info("Deciding again", "reason", err.Error())
		return ctrl.Result{RequeueAfter: retryAfter}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("acting on transfer %s: %w", request, err)
	}
	return ctrl.Result{RequeueAfter: wakeAfter(view, decision)}, nil
}

// wakeAfter returns when a transfer is to be looked at though nothing changes: 0 for never.
func wakeAfter(view handoff.TransferView, decision handoff.TransferDecision) time.Duration {
	transfer := view.Transfer
	switch decision.Action {
	case handoff.TransferFinished:
		if ttl := transfer.Spec.TTLSecondsAfterFinished; ttl != nil {
			return max(handoff.EndedAt(transfer).Add(time.Duration(*ttl)*time.Second).Sub(view.Now), time.Millisecond)
		}
		return 0
	case handoff.TransferSucceed, handoff.TransferFail, handoff.TransferCancel:
		return 0 // the status that was written wakes
	case handoff.TransferWait, handoff.TransferAccept, handoff.TransferWithdraw, handoff.TransferTakeOver, handoff.TransferSettleLast:
	}
	wake := retryAfter
	if deadline, given := handoff.Deadline(transfer); given {
		if left := deadline.Sub(view.Now); left > 0 && left < wake {
			wake = left
		}
	}
	return wake
}
