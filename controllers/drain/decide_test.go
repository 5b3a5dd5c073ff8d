package drain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/placement"
)

var limits = placement.Limits{Total: 10, PerSource: 10, PerTarget: 10}

func node(name, reason string, streams ...v1alpha1.Stream) *nodeView {
	n := &nodeView{node: &v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: name}}, reason: reason, streams: streams, plan: placement.Node{Name: name, Slots: 100, Used: len(streams)}}
	if reason != "" {
		n.plan.Unfit = "is draining"
	}
	return n
}

func stream(name, owner string) v1alpha1.Stream {
	return v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Status: v1alpha1.StreamStatus{Node: owner, Epoch: 3}}
}

func drainTransfer(source string, accepted bool) v1alpha1.StreamTransfer {
	transfer := v1alpha1.StreamTransfer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s1-drain-3", Labels: map[string]string{v1alpha1.LabelSourceNode: source}}, Spec: v1alpha1.StreamTransferSpec{Stream: "s1", Target: "b"}}
	if accepted {
		transfer.Status.AcceptedAt = &metav1.MicroTime{}
	}
	return transfer
}

func TestDecide(t *testing.T) {
	gone := node("a", v1alpha1.ReasonLeaseExpired, stream("s1", "a"))
	gone.gone = true
	stays := stream("s1", "a")
	stays.Spec.DrainPolicy = v1alpha1.DrainStay
	goneStays := node("a", v1alpha1.ReasonLeaseExpired, stays)
	goneStays.gone = true
	for name, c := range map[string]struct {
		view        view
		wantMoves   []string
		wantCancel  []string
		wantBlocked []string
	}{
		"nothing leaves, nothing is done": {view: view{nodes: []*nodeView{node("a", ""), node("b", "")}}},
		"a drained node's streams leave": {
			view:      view{nodes: []*nodeView{node("a", "NodeCordoned", stream("s1", "a")), node("b", "")}},
			wantMoves: []string{"s1 a>b Drain"}},
		"a stream whose transfer is under way is left alone": {
			view: view{nodes: []*nodeView{node("a", "NodeCordoned", stream("s1", "a")), node("b", "")}, transfers: []v1alpha1.StreamTransfer{drainTransfer("a", false)}}},
		"uncordon cancels what has not started": {
			view:       view{nodes: []*nodeView{node("a", ""), node("b", "")}, transfers: []v1alpha1.StreamTransfer{drainTransfer("a", false)}},
			wantCancel: []string{"s1-drain-3"}},
		"uncordon lets what was accepted end": {
			view: view{nodes: []*nodeView{node("a", ""), node("b", "")}, transfers: []v1alpha1.StreamTransfer{drainTransfer("a", true)}}},
		"a node that is gone is left by takeover": {
			view: view{nodes: []*nodeView{gone, node("b", ""), node("c", "NodeCordoned")}}, wantMoves: []string{"s1 a>b Takeover"}},
		"a stream that stays at a drain is taken over all the same": {
			view: view{nodes: []*nodeView{goneStays, node("b", "")}}, wantMoves: []string{"s1 a>b Takeover"}},
		"a stream that stays blocks its drain": {
			view: view{nodes: []*nodeView{node("a", "NodeCordoned", stays), node("b", "")}}, wantBlocked: []string{"default/s1 StayPolicy"}},
		"one node in all blocks at once": {
			view: view{nodes: []*nodeView{node("a", "NodeCordoned", stream("s1", "a"))}}, wantBlocked: []string{"default/s1 NoEligibleTarget"}},
		"a draining node is no target for another": {
			view: view{nodes: []*nodeView{node("a", "NodeCordoned", stream("s1", "a")), node("b", "Tainted", stream("s2", "b"))}}, wantBlocked: []string{"default/s1 NoEligibleTarget", "default/s2 NoEligibleTarget"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(&c.view, limits)
			var moves, cancel, blocked []string
			for _, m := range d.moves {
				moves = append(moves, m.Stream.Name+" "+m.Stream.Status.Node+">"+m.Target+" "+m.Cause)
			}
			for _, transfer := range d.cancel {
				cancel = append(cancel, transfer.Name)
			}
			for _, n := range c.view.nodes {
				for _, b := range d.blocked[n.node.Name] {
					blocked = append(blocked, b.Stream+" "+b.Reason)
				}
			}
			if diff := cmp.Diff([][]string{c.wantMoves, c.wantCancel, c.wantBlocked}, [][]string{moves, cancel, blocked}); diff != "" {
				t.Errorf("moves, cancelled, blocked (-want +got):\n%s", diff)
			}
		})
	}
}
