package gateway

import (
	"fmt"
	"testing"

	"github.com/streamshift/streamshift/internal/routing"
)

func TestChoose(t *testing.T) {
	ready := routing.NodeState{Address: "http://x", Ready: true}
	nodes := map[string]routing.NodeState{"a": ready, "b": ready, "c": ready}
	counts := map[string]int{}
	moved := 0
	const streams = 3000
	for i := range streams {
		stream := routing.Stream{Namespace: "shop", Name: fmt.Sprintf("orders-%d", i)}
		first := choose(nodes, stream, nil)
		counts[first]++
		if again := choose(nodes, stream, nil); again != first {
			t.Fatalf("for one stream both %s and %s are chosen", first, again)
		}
		if second := choose(nodes, stream, map[string]bool{first: true}); second == first || second == "" {
			t.Fatalf("with %s to be avoided, %q is chosen", first, second)
		}
		nodes["d"] = ready
		if choose(nodes, stream, nil) != first {
			moved++
		}
		delete(nodes, "d")
	}
	for node, n := range counts {
		if n < streams/4 || n > streams/2 {
			t.Errorf("%s is chosen for %d of %d streams, want about a third", node, n, streams)
		}
	}
	if moved < streams/8 || moved > streams/3 {
		t.Errorf("a fourth node takes %d of %d streams, want about a quarter", moved, streams)
	}
}

func TestChooseAmongFew(t *testing.T) {
	stream := routing.Stream{Namespace: "shop", Name: "orders"}
	tests := map[string]struct {
		nodes map[string]routing.NodeState
		avoid map[string]bool
		want  string
	}{
		"none":                        {},
		"one that is not ready":       {nodes: map[string]routing.NodeState{"a": {Address: "http://a"}}},
		"one without address":         {nodes: map[string]routing.NodeState{"a": {Ready: true}}},
		"the one that is ready":       {nodes: map[string]routing.NodeState{"a": {Address: "http://a"}, "b": {Address: "http://b", Ready: true}}, want: "b"},
		"all of them are to be avoid": {nodes: map[string]routing.NodeState{"a": {Address: "http://a", Ready: true}}, avoid: map[string]bool{"a": true}, want: "a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := choose(tt.nodes, stream, tt.avoid); got != tt.want {
				t.Errorf("choose = %q, want %q", got, tt.want)
			}
		})
	}
}
