package nodename

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

func wantedAt(name, owner, wanted string) *v1alpha1.Stream {
	return &v1alpha1.Stream{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Spec:       v1alpha1.StreamSpec{NodeName: wanted}, Status: v1alpha1.StreamStatus{Node: owner, Epoch: 1},
	}
}

func nodeWith(name string, set ...condition.Condition) *v1alpha1.StreamNode {
	if set == nil {
		set = []condition.Condition{condition.True(v1alpha1.ConditionReady, "AsExpected", ""), condition.True(v1alpha1.ConditionSchedulable, "AsExpected", "")}
	}
	return &v1alpha1.StreamNode{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.StreamNodeSpec{Slots: 10},
		Status: v1alpha1.StreamNodeStatus{Conditions: condition.Merge(nil, 1, metav1.Time{}, set...)},
	}
}

func transferTo(stream, target, cause string) v1alpha1.StreamTransfer {
	return v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: stream + "-1", UID: "uid", Labels: map[string]string{v1alpha1.LabelCause: cause}},
		Spec:       v1alpha1.StreamTransferSpec{Stream: stream, Target: target},
	}
}

func TestDecide(t *testing.T) {
	ready := condition.True(v1alpha1.ConditionReady, "AsExpected", "")
	for name, c := range map[string]struct {
		streams    []*v1alpha1.Stream
		change     func(*view)
		limits     Limits
		wantMoves  []string
		wantCancel []string
		wantNotes  []string
	}{
		"a stream goes where its spec wants it": {
			streams: []*v1alpha1.Stream{wantedAt("s", "a", "b")}, wantMoves: []string{"s to b"}, wantNotes: []string{"GoingToNode: a transfer is made."}},
		"it waits for a node that drains": {
			streams: []*v1alpha1.Stream{wantedAt("s", "a", "b")},
			change: func(v *view) {
				v.nodes["b"] = nodeWith("b", ready, condition.False(v1alpha1.ConditionSchedulable, v1alpha1.ReasonNodeCordoned, ""))
			},
			wantNotes: []string{"NodeNameWaits: it waits, since node b is unschedulable."}},
		"and for one that is not there": {
			streams: []*v1alpha1.Stream{wantedAt("s", "a", "z")}, wantNotes: []string{"NodeNameWaits: it waits, since node z is not registered."}},
		"and for one that does not match its selector": {
			streams:   []*v1alpha1.Stream{wantedAt("s", "a", "b")},
			change:    func(v *view) { v.streams[0].Spec.NodeSelector = map[string]v1alpha1.LabelValue{"disk": "ssd"} },
			wantNotes: []string{"NodeNameWaits: it waits, since node b does not match spec.nodeSelector."}},
		"and for a free slot, also among those that go at the same time": {
			streams:   []*v1alpha1.Stream{wantedAt("s", "a", "b"), wantedAt("t", "a", "b")},
			change:    func(v *view) { v.used["b"] = 9 },
			wantMoves: []string{"s to b"}, wantNotes: []string{"GoingToNode: a transfer is made.", "NodeNameWaits: it waits, since node b has no free slot: 10 of 10 are taken."}},
		"and for an owner that is gone": {
			streams: []*v1alpha1.Stream{wantedAt("s", "a", "b")},
			change: func(v *view) {
				v.nodes["a"] = nodeWith("a", condition.Unknown(v1alpha1.ConditionReady, v1alpha1.ReasonLeaseExpired, ""))
			},
			wantNotes: []string{"NodeNameWaits: it waits, since node a, its owner, is gone and cannot close it."}},
		"a transfer that is under way comes first, whoever made it": {
			streams:   []*v1alpha1.Stream{wantedAt("s", "a", "b")},
			change:    func(v *view) { v.open = append(v.open, transferTo("s", "c", "")) },
			wantNotes: []string{"GoingToNode: transfer s-1 to node c is under way."}},
		"a node that came back is filled gradually": {
			streams: []*v1alpha1.Stream{wantedAt("s", "a", "b"), wantedAt("t", "a", "b"), wantedAt("u", "b", "a")}, limits: Limits{Total: 10, PerTarget: 1},
			wantMoves: []string{"s to b", "u to a"}, wantNotes: []string{"GoingToNode: a transfer is made.", "GoingToNode: it waits for its turn.", "GoingToNode: a transfer is made."}},
		"drains go first": {
			streams: []*v1alpha1.Stream{wantedAt("s", "a", "b")}, limits: Limits{Total: 1, PerTarget: 1},
			change:    func(v *view) { v.open = append(v.open, transferTo("other", "a", v1alpha1.CauseDrain)) },
			wantNotes: []string{"GoingToNode: it waits for its turn."}},
		"a transfer that nobody wants any more is cancelled": {
			change: func(v *view) {
				v.open = append(v.open, transferTo("s", "b", v1alpha1.CausePlacement))
				v.moved["default/s"] = wantedAt("s", "a", "")
			},
			wantCancel: []string{"s-1"}},
		"but not once it is accepted": {
			change: func(v *view) {
				v.open = append(v.open, transferTo("s", "b", v1alpha1.CausePlacement))
				v.moved["default/s"] = wantedAt("s", "a", "")
				v.moved["default/s"].Status.PendingTransfer = &v1alpha1.PendingTransfer{UID: "uid"}
			}},
		"and not of a person's making": {
			change: func(v *view) {
				v.open = append(v.open, transferTo("s", "b", ""))
				v.moved["default/s"] = wantedAt("s", "a", "")
			}},
	} {
		t.Run(name, func(t *testing.T) {
			v := &view{
				streams: c.streams, nodes: map[string]*v1alpha1.StreamNode{"a": nodeWith("a"), "b": nodeWith("b"), "c": nodeWith("c")},
				used: map[string]int{}, moved: map[string]*v1alpha1.Stream{},
			}
			if c.change != nil {
				c.change(v)
			}
			if c.limits == (Limits{}) {
				c.limits = Limits{Total: 16, PerTarget: 8}
			}
			d := decide(v, c.limits)
			var moves, cancelled, notes []string
			for _, move := range d.moves {
				moves = append(moves, move.Stream.Name+" to "+move.Target)
			}
			for _, transfer := range d.cancel {
				cancelled = append(cancelled, transfer.Name)
			}
			for _, n := range d.notes {
				const prefix = "The stream is to go to node b, which spec.nodeName names: "
				notes = append(notes, n.reason+": "+n.message[len(prefix):])
			}
			for what, pair := range map[string][2][]string{"moves": {c.wantMoves, moves}, "cancelled": {c.wantCancel, cancelled}, "notes": {c.wantNotes, notes}} {
				if diff := cmp.Diff(pair[0], pair[1]); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}
		})
	}
}
