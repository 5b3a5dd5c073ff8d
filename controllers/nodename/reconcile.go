package nodename

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/controllers/slots"
	"github.com/streamshift/streamshift/controllers/transfers"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/handoff"
)

// +kubebuilder:rbac:groups=streamshift.io,resources=streams,verbs=get;list;watch
// +kubebuilder:rbac:groups=streamshift.io,resources=streams/status,verbs=patch
// +kubebuilder:rbac:groups=streamshift.io,resources=streamnodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=streamshift.io,resources=streamtransfers,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler has streams go where their spec wants them. It looks at all of them at once, since they share the limits.
type Reconciler struct {
	Client client.Client
	Views  *register.Streams
	Slots  *slots.Ledger
	Maker  *transfers.Maker
	Events events.EventRecorder
	Limits Limits
	Now    func() time.Time
}

const (
	// lookAgain is when a pass is made though nothing changes, while streams are not where they are wanted.
	lookAgain = 2 * time.Second
	// writesAtOnce bounds the writes of one pass that are under way at the same time.
	writesAtOnce = 16
)

// Reconcile makes one pass: observe, decide, act.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	v, err := r.observe(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	if err := r.act(ctx, decide(v, r.Limits)); err != nil {
		return ctrl.Result{}, fmt.Errorf("placing streams by spec.nodeName: %w", err)
	}
	if len(v.streams) > 0 {
		return ctrl.Result{RequeueAfter: lookAgain}, nil
	}
	return ctrl.Result{}, nil
}

func (r *Reconciler) observe(ctx context.Context) (*view, error) {
	v := &view{nodes: map[string]*v1alpha1.StreamNode{}, used: map[string]int{}, moved: map[string]*v1alpha1.Stream{}}
	list := &v1alpha1.StreamList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{elsewhereIndex: "true"}); err != nil {
		return nil, fmt.Errorf("listing streams that are wanted elsewhere: %w", err)
	}
	for i := range list.Items {
		// The watch may be behind this process's own writes.
		if newest := r.Views.Newest(&list.Items[i]); elsewhere(newest) {
			v.streams = append(v.streams, newest)
		}
	}
	open := &v1alpha1.StreamTransferList{}
	if err := r.Client.List(ctx, open, client.MatchingFields{transfers.OpenIndex: transfers.Open}); err != nil {
		return nil, fmt.Errorf("listing transfers: %w", err)
	}
	v.open = open.Items
	for i := range v.open {
		if err := r.observeMoved(ctx, v, &v.open[i]); err != nil {
			return nil, err
		}
	}
	if len(v.streams) == 0 {
		return v, nil
	}
	nodes := &v1alpha1.StreamNodeList{}
	if err := r.Client.List(ctx, nodes); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	for i := range nodes.Items {
		node := &nodes.Items[i]
		v.nodes[node.Name], v.used[node.Name] = node, r.Slots.Usage(node.Name).Taken()
	}
	return v, nil
}

// observeMoved reads the stream of a transfer of this package's making.
func (r *Reconciler) observeMoved(ctx context.Context, v *view, transfer *v1alpha1.StreamTransfer) error {
	if !isOurs(transfer) {
		return nil
	}
	stream := &v1alpha1.Stream{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: transfer.Namespace, Name: transfer.Spec.Stream}, stream)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading stream %s/%s: %w", transfer.Namespace, transfer.Spec.Stream, err)
	}
	if err == nil {
		v.moved[keyOf(stream.Namespace, stream.Name)] = r.Views.Newest(stream)
	}
	return nil
}

// act says on each stream what it waits for before it makes transfers: who waits for a stream must not take it for settled in
// between.
func (r *Reconciler) act(ctx context.Context, d decision) error {
	notes := inParallel(ctx, len(d.notes), func(i int) error { return r.say(ctx, &d.notes[i]) })
	moves := inParallel(ctx, len(d.moves), func(i int) error { return r.Maker.Make(ctx, &d.moves[i]) })
	cancelled := inParallel(ctx, len(d.cancel), func(i int) error { return r.Maker.Cancel(ctx, &d.cancel[i]) })
	return errors.Join(notes, moves, cancelled)
}

func inParallel(ctx context.Context, count int, effect func(int) error) error {
	errs := make([]error, count)
	workqueue.ParallelizeUntil(ctx, writesAtOnce, count, func(i int) { errs[i] = effect(i) })
	return errors.Join(errs...)
}

// say writes on a stream what it waits for, where it says something else. While a transfer is under way nothing is written:
// the register's own steps tell of it, and end it.
func (r *Reconciler) say(ctx context.Context, n *note) error {
	stream := n.stream
	known, found := condition.Get(stream.Status.Conditions, v1alpha1.ConditionReconciling)
	said := found && known.Status == metav1.ConditionTrue && known.ObservedGeneration == stream.Generation &&
		(known.Message == n.message || known.Reason == n.reason && n.reason == v1alpha1.ReasonGoingToNode)
	if said || stream.Status.PendingTransfer != nil {
		return nil
	}
	step := handoff.Note(stream, metav1.NewMicroTime(r.Now()), condition.True(v1alpha1.ConditionReconciling, n.reason, n.message))
	updated, err := register.Propose(ctx, r.Client, stream, step)
	if errors.Is(err, register.ErrRefused) {
		return nil // the stream has gone on: the next pass looks again
	}
	if err != nil {
		return fmt.Errorf("noting on stream %s/%s what it waits for: %w", stream.Namespace, stream.Name, err)
	}
	r.Views.Wrote(updated)
	r.Slots.Answer(updated)
	if n.reason == v1alpha1.ReasonNodeNameWaits {
		r.Events.Eventf(updated, nil, corev1.EventTypeWarning, n.reason, "Place", "%s", n.message)
		ctrl.LoggerFrom(ctx).V(1).Info("Stream waits for the node of its spec", "stream", stream.Name, "node", stream.Spec.NodeName, "reason", n.message)
	}
	return nil
}
