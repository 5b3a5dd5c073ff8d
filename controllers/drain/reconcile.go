package drain

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
	"github.com/streamshift/streamshift/controllers/transfers"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/placement"
)

// +kubebuilder:rbac:groups=streamshift.io,resources=streamtransfers,verbs=get;list;watch
// +kubebuilder:rbac:groups=streamshift.io,resources=streamnodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=streamshift.io,resources=streamnodes/status,verbs=patch
// +kubebuilder:rbac:groups=streamshift.io,resources=streams,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler has streams leave nodes. It looks at all nodes at once, since they share the targets and the limits.
type Reconciler struct {
	Client    client.Client
	Views     *register.Streams
	Nodes     *register.Views[*v1alpha1.StreamNode]
	Slots     *slots.Ledger
	Transfers *transfers.Maker
	Events    events.EventRecorder
	// Taints are the keys that drain a node.
	Taints []string
	// TakeoverAfter is for how long a node must be gone before its streams are taken over; 0: never.
	TakeoverAfter time.Duration
	Limits        placement.Limits
	// SlowAfter is for how long a transfer may keep requests waiting before its target gets fewer at the same time; 0: for ever.
	SlowAfter time.Duration
	Metrics   *Metrics
	Now       func() time.Time

	pace pace
	// reported is when the progress of a node's drain was written last.
	reported map[string]time.Time
	// missing is since when nodes own streams that have no StreamNode.
	missing map[string]time.Time
}

// lookAgain is when a pass is made though nothing changes, while streams are to leave.
const lookAgain = time.Second

// Reconcile makes one pass: observe, decide, act.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	v, err := r.observe(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	d := decide(v, r.Limits)
	busy := false
	var errs []error
	for _, n := range v.nodes {
		errs = append(errs, r.report(ctx, v, n, d.blocked[n.node.Name]))
		busy = busy || n.leaves() || n.missing || r.TakeoverAfter > 0 && condition.NodeGone(n.node)
	}
	if err := errors.Join(append(errs, r.act(ctx, d))...); err != nil {
		return ctrl.Result{}, fmt.Errorf("draining: %w", err)
	}
	if busy {
		return ctrl.Result{RequeueAfter: lookAgain}, nil
	}
	return ctrl.Result{}, nil
}

// decision is what one pass does.
type decision struct {
	moves  []transfers.Move
	cancel []v1alpha1.StreamTransfer
	// blocked has the streams that cannot leave, by node.
	blocked map[string][]placement.Blocker
}

// decide is pure.
func decide(v *view, limits placement.Limits) decision {
	sources := map[string]*nodeView{}
	var nodes []placement.Node
	for _, n := range v.nodes {
		sources[n.node.Name] = n
		nodes = append(nodes, n.plan)
	}
	d := decision{}
	moving, underWay := map[string]bool{}, placement.UnderWay{BySource: map[string]int{}, ByTarget: map[string]int{}}
	for i := range v.transfers {
		transfer := &v.transfers[i]
		moving[transfer.Namespace+"/"+transfer.Spec.Stream] = true
		underWay.Total++
		underWay.BySource[transfer.Labels[v1alpha1.LabelSourceNode]]++
		underWay.ByTarget[transfer.Spec.Target]++
		source := sources[transfer.Labels[v1alpha1.LabelSourceNode]]
		if (source == nil || !source.leaves()) && transfer.Status.AcceptedAt == nil && !transfer.Spec.Cancel {
			d.cancel = append(d.cancel, *transfer) // nobody wants it any more, and it has not started
		}
	}
	streams := map[string]*v1alpha1.Stream{}
	var leaving []placement.Leaving
	for _, n := range v.nodes {
		if !n.leaves() {
			continue
		}
		l := placement.Leaving{Node: n.node.Name}
		for i := range n.streams {
			stream := &n.streams[i]
			key := stream.Namespace + "/" + stream.Name
			streams[key] = stream
			l.Streams = append(l.Streams, leavingStream(stream, key, moving[key], n.gone))
		}
		leaving = append(leaving, l)
	}
	var moves []placement.Move
	limits.Shares = v.shares
	moves, d.blocked = placement.PlanLeave(nodes, leaving, underWay, limits)
	for _, m := range moves {
		cause := v1alpha1.CauseDrain
		if sources[m.Source].gone {
			cause = v1alpha1.CauseTakeover
		}
		d.moves = append(d.moves, transfers.Move{Stream: *streams[m.Stream], Target: m.Target, Cause: cause})
	}
	return d
}

func leavingStream(stream *v1alpha1.Stream, key string, moving, gone bool) placement.LeavingStream {
	return placement.LeavingStream{
		Stream: key, Selector: placement.Selector(stream.Spec.NodeSelector),
		// A node that is gone keeps no stream alive, whatever the stream's policy says.
		Stays:  stream.Spec.DrainPolicy == v1alpha1.DrainStay && !gone,
		Moving: moving || stream.Status.PendingTransfer != nil,
	}
}
