package drain

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/handoff"
	"github.com/streamshift/streamshift/internal/placement"
)

// view is everything that a pass decides from. Streams, transfers and Kubernetes nodes are the cache's own: they are not copied,
// since there may be thousands, and must not be changed.
type view struct {
	now   time.Time
	nodes []*nodeView
	// transfers are the ones of this package's making that have not ended.
	transfers []v1alpha1.StreamTransfer
	// failed has the names of those that ended without success, as namespace/name.
	failed map[string]bool
	// shares are what the pace allows each node, in transfers to it at the same time.
	shares map[string]int
}

// nodeView is one node, with its streams where they are to leave.
type nodeView struct {
	node *v1alpha1.StreamNode
	// reason and message say why streams leave; an empty reason: they do not.
	reason, message string
	// gone tells that they leave by takeover; missing, that there is no StreamNode of the name any more.
	gone, missing bool
	streams       []v1alpha1.Stream
	plan          placement.Node
}

func (n *nodeView) leaves() bool { return n.reason != "" }

func (r *Reconciler) observe(ctx context.Context) (*view, error) {
	v := &view{now: r.Now()}
	nodes, kubernetesNodes, err := r.readNodes(ctx)
	if err != nil {
		return nil, err
	}
	gone := 0
	for _, n := range r.lookForMissing(nodes, v.now) {
		v.nodes = append(v.nodes, n)
		gone++
	}
	for i := range nodes {
		n := r.look(r.Nodes.Newest(&nodes[i]), kubernetesNodes[nodes[i].Name], v.now)
		if condition.NodeGone(n.node) {
			gone++
		}
		v.nodes = append(v.nodes, n)
	}
	// Where most nodes look gone it is more likely that this process is the one that is cut off.
	for _, n := range v.nodes {
		if n.gone && gone*2 > len(v.nodes) {
			n.reason, n.message, n.gone = "", "", false
		}
		if n.leaves() {
			if n.streams, err = r.ownedBy(ctx, n.node.Name); err != nil {
				return nil, err
			}
		}
	}
	v.shares = r.pace.sharesOf(v.nodes)
	if v.transfers, err = r.transfersThat(ctx, areOpen); err != nil {
		return nil, err
	}
	failed, err := r.transfersThat(ctx, haveFailed)
	if err != nil {
		return nil, err
	}
	v.failed = make(map[string]bool, len(failed))
	for i := range failed {
		v.failed[failed[i].Namespace+"/"+failed[i].Name] = true
	}
	return v, nil
}

func (r *Reconciler) transfersThat(ctx context.Context, state string) ([]v1alpha1.StreamTransfer, error) {
	list := &v1alpha1.StreamTransferList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{stateIndex: state}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing transfers that %s: %w", state, err)
	}
	return list.Items, nil
}

func (r *Reconciler) readNodes(ctx context.Context) ([]v1alpha1.StreamNode, map[string]*corev1.Node, error) {
	list := &v1alpha1.StreamNodeList{}
	if err := r.Client.List(ctx, list); err != nil {
		return nil, nil, fmt.Errorf("listing nodes: %w", err)
	}
	kubernetesNodes := &corev1.NodeList{}
	if err := r.Client.List(ctx, kubernetesNodes, client.UnsafeDisableDeepCopy); err != nil {
		return nil, nil, fmt.Errorf("listing Kubernetes nodes: %w", err)
	}
	byName := make(map[string]*corev1.Node, len(kubernetesNodes.Items))
	for i := range kubernetesNodes.Items {
		byName[kubernetesNodes.Items[i].Name] = &kubernetesNodes.Items[i]
	}
	return list.Items, byName, nil
}

// SignalsOf returns what a node and its Kubernetes node, nil where there is none, tell of a drain.
func SignalsOf(node *v1alpha1.StreamNode, kubernetesNode *corev1.Node) placement.NodeSignals {
	signals := placement.NodeSignals{Unschedulable: node.Spec.Unschedulable, Stopping: node.Status.Stopping}
	if kubernetesNode == nil {
		return signals
	}
	signals.Cordoned, signals.Terminating = kubernetesNode.Spec.Unschedulable, kubernetesNode.DeletionTimestamp != nil
	for _, taint := range kubernetesNode.Spec.Taints {
		signals.Taints = append(signals.Taints, taint.Key)
	}
	return signals
}

// lookForMissing returns a view of each node that owns streams and has no StreamNode: somebody deleted it. An agent that lives
// registers again; where none does, the streams are taken over.
func (r *Reconciler) lookForMissing(nodes []v1alpha1.StreamNode, now time.Time) (views []*nodeView) {
	known := map[string]bool{}
	for i := range nodes {
		known[nodes[i].Name] = true
	}
	missing := map[string]time.Time{}
	for _, owner := range slices.Sorted(slices.Values(r.Slots.Owners())) {
		if known[owner] {
			continue
		}
		since, seen := r.missing[owner]
		if !seen {
			since = now
		}
		missing[owner] = since
		n := &nodeView{node: &v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: owner}}, missing: true}
		n.plan = placement.Node{Name: owner, Unfit: "is not registered"}
		if r.TakeoverAfter > 0 && now.Sub(since) >= r.TakeoverAfter {
			n.gone, n.reason, n.message = true, v1alpha1.ReasonSourceGone, "The StreamNode was deleted."
		}
		views = append(views, n)
	}
	r.missing = missing
	return views
}

// look derives whether streams leave a node.
func (r *Reconciler) look(node *v1alpha1.StreamNode, kubernetesNode *corev1.Node, now time.Time) *nodeView {
	signals := SignalsOf(node, kubernetesNode)
	n := &nodeView{node: node}
	n.reason, n.message = placement.DrainIntent(signals, r.Taints)
	if condition.NodeGone(node) {
		ready, _ := condition.Get(node.Status.Conditions, v1alpha1.ConditionReady)
		n.reason, n.message = "", "" // its streams cannot be closed: they are taken over, or wait for it
		if r.TakeoverAfter > 0 && now.Sub(ready.LastTransitionTime.Time) >= r.TakeoverAfter {
			n.gone, n.reason, n.message = true, ready.Reason, ready.Message
		}
	}
	n.plan = r.Slots.Candidate(node)
	n.plan.Doubt = placement.Doubt(signals)
	if n.leaves() {
		n.plan.Unfit = "is draining"
	}
	return n
}

func (r *Reconciler) ownedBy(ctx context.Context, node string) ([]v1alpha1.Stream, error) {
	list := &v1alpha1.StreamList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{ownerIndex: node}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the streams of node %s: %w", node, err)
	}
	owned := list.Items[:0]
	for i := range list.Items {
		// The watch may be behind this process's own writes.
		if newest := r.Views.Newest(&list.Items[i]); newest.Status.Node == node && newest.DeletionTimestamp.IsZero() {
			owned = append(owned, *newest)
		}
	}
	return owned, nil
}

// stateOf says how a transfer of this package's making stands, for the index: it is open, it has failed, or nothing of interest.
func stateOf(transfer *v1alpha1.StreamTransfer) string {
	cause := transfer.Labels[v1alpha1.LabelCause]
	switch {
	case cause != v1alpha1.CauseDrain && cause != v1alpha1.CauseTakeover:
		return ""
	case !handoff.Terminal(transfer):
		return areOpen
	case transfer.Status.Phase == v1alpha1.TransferFailed:
		return haveFailed
	}
	return ""
}
