package placement

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func TestChoose(t *testing.T) {
	a := Node{Name: "a", Slots: 10, Used: 5}
	for name, c := range map[string]struct {
		nodes      []Node
		demand     Demand
		want       string
		wantReason string
	}{
		"the smallest share of taken slots wins, not the smallest number": {
			[]Node{a, {Name: "b", Slots: 100, Used: 20}}, Demand{Stream: "s"}, "b", "node b has 20 of 100 slots taken, the smallest share"},
		"a full node is passed over": {
			[]Node{a, {Name: "b", Slots: 0, Used: 0}}, Demand{Stream: "s"}, "a", "node a has 5 of 10 slots taken, the smallest share"},
		"spec.nodeName leaves one": {
			[]Node{a, {Name: "b", Slots: 10}}, Demand{Stream: "s", NodeName: "a"}, "a", "node a has 5 of 10 slots taken, the smallest share"},
		"a selector leaves those with all labels": {
			[]Node{{Name: "b", Slots: 10}, {Name: "c", Slots: 10, Used: 9, Labels: map[string]string{"zone": "1", "disk": "ssd"}}},
			Demand{Stream: "s", Selector: map[string]string{"zone": "1", "disk": "ssd"}}, "c", "node c has 9 of 10 slots taken, the smallest share"},
		"a node that will be drained soon is the last choice": {
			[]Node{a, {Name: "b", Slots: 10, Doubt: "is about to be removed"}}, Demand{Stream: "s"}, "a", "node a has 5 of 10 slots taken, the smallest share"},
		"but a choice": {
			[]Node{{Name: "b", Slots: 10, Doubt: "is about to be removed"}}, Demand{Stream: "s"}, "b", "node b has 0 of 10 slots taken, the smallest share"},
		"of equal nodes the one in the emptier zone wins": {
			[]Node{
				{Name: "a1", Slots: 10, Used: 2, Labels: map[string]string{LabelZone: "1"}}, {Name: "a2", Slots: 10, Used: 6, Labels: map[string]string{LabelZone: "1"}},
				{Name: "b1", Slots: 10, Used: 2, Labels: map[string]string{LabelZone: "2"}}, {Name: "b2", Slots: 10, Used: 3, Labels: map[string]string{LabelZone: "2"}},
			}, Demand{Stream: "s"}, "b1", "node b1 has 2 of 10 slots taken, the smallest share"},
		"no node at all": {nil, Demand{Stream: "s"}, "", "no node is registered"},
		"none fits: says what is in the way, counted": {
			[]Node{{Name: "b", Slots: 1, Used: 1}, {Name: "c", Slots: 1, Used: 1}, {Name: "d", Slots: 1, Unfit: "is not ready"}},
			Demand{Stream: "s"}, "", "of 3 nodes none fits: 1 is not ready, 2 has no free slot"},
	} {
		t.Run(name, func(t *testing.T) {
			got, reason := Choose(c.nodes, c.demand)
			if got != c.want || reason != c.wantReason {
				t.Errorf("got %q because %q, want %q because %q", got, reason, c.want, c.wantReason)
			}
		})
	}
}

func TestChooseNeverExceedsSlotsAndIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Node {
			return Node{
				Slots: rapid.IntRange(0, 5).Draw(t, "slots"), Used: rapid.IntRange(0, 6).Draw(t, "used"),
				Unfit: rapid.SampledFrom([]string{"", "", "is not ready"}).Draw(t, "unfit"),
			}
		}), 0, 6).Draw(t, "nodes")
		for i := range nodes {
			nodes[i].Name = fmt.Sprintf("node-%d", i)
		}
		demand := Demand{Stream: rapid.String().Draw(t, "stream")}
		name, _ := Choose(nodes, demand)
		again, _ := Choose(nodes, demand)
		if name != again {
			t.Fatalf("chose %q, then %q", name, again)
		}
		possible := false
		for _, node := range nodes {
			fits := node.Unfit == "" && node.Used < node.Slots
			possible = possible || fits
			if node.Name == name && !fits {
				t.Fatalf("chose %+v", node)
			}
		}
		if possible != (name != "") {
			t.Fatalf("chose %q, possible: %v", name, possible)
		}
	})
}
