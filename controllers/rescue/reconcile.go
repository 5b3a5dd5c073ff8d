package rescue

import (
	"context"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/controllers/slots"
	"github.com/streamshift/streamshift/controllers/transfers"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/handoff"
	"github.com/streamshift/streamshift/internal/placement"
)

// +kubebuilder:rbac:groups=streamshift.io,resources=streams,verbs=get;list;watch
// +kubebuilder:rbac:groups=streamshift.io,resources=streamnodes,verbs=get;list;watch

// Reconciler has streams leave nodes that cannot open them.
type Reconciler struct {
	Client    client.Client
	Views     *register.Streams
	Slots     *slots.Ledger
	Transfers *transfers.Maker
	// OpenWithin is for how long an owner may try to open a stream; 0: for ever.
	OpenWithin time.Duration
	Now        func() time.Time
}

const (
	// workers reconcile different streams at the same time.
	workers = 4
	// lookAgain is when a stream that no node can take, or that is being transferred already, is looked at again.
	lookAgain = 5 * time.Second
	// mostPatience is how many times OpenWithin an owner may try at most, where owners before it have failed.
	mostPatience = 20
)

// SetupWithManager registers the controller. It sees only streams that are being opened.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	opening := func(object client.Object) bool {
		stream, ok := object.(*v1alpha1.Stream)
		return ok && stream.Status.State == v1alpha1.StreamOpening
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("rescue").
		For(&v1alpha1.Stream{}).
		WithEventFilter(predicate.Funcs{
			CreateFunc: func(e event.CreateEvent) bool { return opening(e.Object) },
			UpdateFunc: func(e event.UpdateEvent) bool { return opening(e.ObjectNew) },
			DeleteFunc: func(event.DeleteEvent) bool { return false },
		}).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the rescue controller: %w", err)
	}
	return nil
}

// Reconcile observes, decides and acts on one stream.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	stream := &v1alpha1.Stream{}
	if err := r.Client.Get(ctx, request.NamespacedName, stream); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	v := view{stream: r.Views.Newest(stream), now: r.Now()}
	v.within = patience(v.stream, r.OpenWithin)
	if handoff.OpeningOverdue(v.stream, v.within, v.now) {
		if err := r.readNodes(ctx, &v); err != nil {
			return ctrl.Result{}, err
		}
	}
	d := decide(&v)
	if d.target == "" {
		ctrl.LoggerFrom(ctx).V(2).Info("Decided", "reason", d.reason)
		return ctrl.Result{RequeueAfter: d.again}, nil
	}
	ctrl.LoggerFrom(ctx).Info("Giving a stream to another node", "source", v.stream.Status.Node, "target", d.target,
		"epoch", v.stream.Status.Epoch, "reason", d.reason)
	err := r.Transfers.Make(ctx, &transfers.Move{Stream: *v.stream, Target: d.target, Cause: v1alpha1.CauseCannotOpen})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("rescuing stream %s: %w", request, err)
	}
	return ctrl.Result{RequeueAfter: d.again}, nil
}

// patience returns for how long the owner may try: half of the time for which the stream has been without an open session when it came,
// at least within and at most mostPatience times that. A stream that no node can open waits for a person; it is tried everywhere, but
// many of them must not go round as fast as they can meanwhile.
func patience(stream *v1alpha1.Stream, within time.Duration) time.Duration {
	since, opening := handoff.OpeningSince(stream)
	ready, found := condition.Get(stream.Status.Conditions, v1alpha1.ConditionReady)
	if !opening || !found {
		return within
	}
	before := since.Sub(ready.LastTransitionTime.Time)
	return min(max(within, before/2), mostPatience*within)
}

// view is everything that a decision is made from.
type view struct {
	stream *v1alpha1.Stream
	// within is for how long the owner may try; 0: for ever.
	within time.Duration
	now    time.Time
	// owner is the present one's object, nil where it is not registered; nodes are all of them. Both are read only where
	// the opening is overdue.
	owner *v1alpha1.StreamNode
	nodes []placement.Node
}

func (r *Reconciler) readNodes(ctx context.Context, v *view) error {
	list := &v1alpha1.StreamNodeList{}
	if err := r.Client.List(ctx, list); err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	for i := range list.Items {
		node := &list.Items[i]
		if node.Name == v.stream.Status.Node {
			v.owner = node
		}
		v.nodes = append(v.nodes, r.Slots.Candidate(node))
	}
	return nil
}

// decision is where the stream shall go, or, with an empty target, when to look again: 0 for never.
type decision struct {
	target string
	again  time.Duration
	reason string
}

// decide is pure.
func decide(v *view) decision {
	register := &v.stream.Status
	since, opening := handoff.OpeningSince(v.stream)
	switch {
	case !opening || v.within == 0 || !v.stream.DeletionTimestamp.IsZero():
		return decision{reason: "the stream is not being opened, or is being deleted"}
	case v.now.Sub(since) < v.within:
		return decision{again: v.within - v.now.Sub(since), reason: "its owner may still open it"}
	case register.PendingTransfer != nil:
		return decision{again: lookAgain, reason: "a transfer takes the stream elsewhere already"}
	case v.owner == nil || condition.NodeGone(v.owner):
		return decision{again: lookAgain, reason: "its owner is gone, and the stream is taken over"}
	}
	others := make([]placement.Node, 0, len(v.nodes))
	for _, node := range v.nodes {
		if node.Name == register.Node {
			node.Unfit = "cannot open it"
		}
		others = append(others, node)
	}
	target, reason := placement.Choose(others, placement.DemandOf(v.stream))
	return decision{target: target, again: lookAgain, reason: reason}
}
