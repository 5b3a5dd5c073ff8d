package stream

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
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/placement"
)

// +kubebuilder:rbac:groups=streamshift.io,resources=streams,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=streamshift.io,resources=streams/status,verbs=patch
// +kubebuilder:rbac:groups=streamshift.io,resources=streamnodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=streamshift.io,resources=streamtransfers,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler reconciles Streams on the manager.
type Reconciler struct {
	// Client reads from the cache and writes to the API server; Live reads from the API server.
	Client client.Client
	Live   client.Reader
	Views  *register.Streams
	Slots  *slots.Ledger
	Events events.EventRecorder
	Now    func() time.Time
}

// retryAfter is when a step that was refused, or that nothing wakes, is looked at again.
const retryAfter = time.Second

// action is what the manager does next about a stream.
type action int

const (
	wait action = iota
	holdLog
	releaseLog
	place
	reportUnplaced
	withdraw
	noteAtNode
)

// decision is an action, the node that it concerns, and the reason.
type decision struct {
	action action
	node   string
	reason string
}

// Reconcile observes, decides and acts on one stream.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	v, err := r.observe(ctx, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observing stream %s: %w", request, err)
	}
	if v == nil {
		return ctrl.Result{}, nil
	}
	d := decide(v)
	ctrl.LoggerFrom(ctx).V(2).Info("Decided", "epoch", v.stream.Status.Epoch, "action", int(d.action), "reason", d.reason)
	err = r.act(ctx, v, d)
	switch {
	case errors.Is(err, register.ErrRefused), errors.Is(err, errSlotTaken):
		ctrl.LoggerFrom(ctx).V(1).Info("Deciding again", "reason", err.Error())
		return ctrl.Result{RequeueAfter: retryAfter}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("acting on stream %s: %w", request, err)
	}
	return ctrl.Result{}, nil
}

// decide is pure.
func decide(v *view) decision {
	register := &v.stream.Status
	switch {
	case register.PendingTransfer != nil && v.orphaned:
		return decision{withdraw, register.Node, fmt.Sprintf("transfer %s was deleted, or ended, before it was committed", register.PendingTransfer.Name)}
	case register.Node == "" && !v.stream.DeletionTimestamp.IsZero() && holdsLog(v.stream):
		return decision{releaseLog, "", "the stream is deleted before it had an owner: there is no log"}
	case register.Node != "" && v.stream.DeletionTimestamp.IsZero() && unnoted(v.stream):
		return decision{noteAtNode, register.Node, "the spec has changed, or the stream has come where it is wanted"}
	case register.Node != "" || !v.stream.DeletionTimestamp.IsZero():
		return decision{wait, register.Node, "the stream has an owner, or is being deleted"}
	}
	node, reason := placement.Choose(v.nodes, placement.DemandOf(v.stream))
	switch {
	case node == "":
		return decision{reportUnplaced, "", reason}
	case v.stream.Spec.DeletionPolicy != v1alpha1.DeletionRetain && !holdsLog(v.stream):
		return decision{holdLog, node, "the log is removed when the stream is deleted"}
	}
	return decision{place, node, reason}
}

// unnoted tells whether the conditions of a stream that is where it is wanted do not say so, or speak of an older spec. A stream
// that is wanted elsewhere is the business of controllers/nodename; steps of a pending transfer bring the conditions with them.
func unnoted(stream *v1alpha1.Stream) bool {
	if wanted := stream.Spec.NodeName; wanted != "" && wanted != stream.Status.Node || stream.Status.PendingTransfer != nil {
		return false
	}
	return stream.Status.ObservedGeneration != stream.Generation || condition.IsTrue(stream.Status.Conditions, v1alpha1.ConditionReconciling)
}
