package rebalance

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// world is a drawn input.
type world struct {
	nodes    []Node
	streams  []Stream
	settings Settings
}

func drawWorld(t *rapid.T, maxNodes, maxStreams int) world {
	zones, disks := []string{"x", "y"}, []map[string]string{nil, {"disk": "ssd"}}
	w := world{settings: Settings{
		Weights: rapid.SampledFrom([]Weights{{Count: 1}, {Bytes: 1}, {Requests: 1}, {Bytes: 1, Requests: 1, Count: 1}}).Draw(t, "weights"),
		Zones:   rapid.SampledFrom([]Zones{AcrossZones, WithinZones}).Draw(t, "zones"), Threshold: rapid.Float64Range(0.01, 1).Draw(t, "threshold"),
		MaxMoves: rapid.IntRange(1, 2*maxStreams).Draw(t, "maxMoves"), MaxMovesPerNode: rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(t, "maxMovesPerNode"),
	}}
	for i := range rapid.IntRange(1, maxNodes).Draw(t, "nodes") {
		w.nodes = append(w.nodes, Node{
			Name: fmt.Sprintf("n%d", i), Slots: rapid.SampledFrom([]int{0, 5, 10, 20, 100}).Draw(t, "slots"),
			Role:   rapid.SampledFrom([]Role{GivesAndTakes, GivesAndTakes, GivesAndTakes, Gives, Outside}).Draw(t, "role"),
			Zone:   rapid.SampledFrom(zones).Draw(t, "zone"),
			Labels: rapid.SampledFrom(disks).Draw(t, "labels"),
		})
	}
	for i := range rapid.IntRange(0, maxStreams).Draw(t, "streams") {
		at := rapid.IntRange(0, len(w.nodes)-1).Draw(t, "node")
		w.streams = append(w.streams, Stream{
			ID: fmt.Sprintf("s%d", i), Node: w.nodes[at].Name, Fixed: rapid.IntRange(0, 5).Draw(t, "fixed") == 0,
			Load: Load{
				Bytes:    float64(rapid.SampledFrom([]int{0, 1, 2, 3, 5, 50, 1000}).Draw(t, "bytes")),
				Requests: float64(rapid.SampledFrom([]int{0, 1, 2, 10, 100}).Draw(t, "requests")),
			},
			Selector: rapid.SampledFrom([]map[string]string{nil, nil, nil, disks[1]}).Draw(t, "selector"),
		})
		w.nodes[at].Used++
	}
	return w
}

// after returns the world that a plan leads to; what was moved cools down.
func (w world) after(moves []Move) world {
	next := world{nodes: slices.Clone(w.nodes), streams: slices.Clone(w.streams), settings: w.settings}
	used := func(name string, change int) {
		for i := range next.nodes {
			if next.nodes[i].Name == name {
				next.nodes[i].Used += change
			}
		}
	}
	for _, move := range moves {
		for i := range next.streams {
			if next.streams[i].ID == move.Stream {
				next.streams[i].Node, next.streams[i].Fixed = move.Target, true
			}
		}
		used(move.Source, -1)
		used(move.Target, 1)
	}
	return next
}

func (w world) node(name string) Node {
	return w.nodes[slices.IndexFunc(w.nodes, func(n Node) bool { return n.Name == name })]
}

func (w world) stream(id string) Stream {
	return w.streams[slices.IndexFunc(w.streams, func(s Stream) bool { return s.ID == id })]
}

func TestEveryPlanKeepsTheRules(t *testing.T) {
	for name, size := range map[string][2]int{"few streams, by search": {4, 6}, "more streams, by climbing": {6, 60}} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := drawWorld(t, size[0], size[1])
				plan := Make(w.nodes, w.streams, w.settings)
				checkMoves(t, w, plan.Moves)
				if plan.After > plan.Before+rounding {
					t.Fatalf("the plan makes it worse: %v, then %v", plan.Before, plan.After)
				}
				if len(plan.Moves) > 0 && plan.Before <= w.settings.Threshold {
					t.Fatalf("moves though the distance %v is within %v", plan.Before, w.settings.Threshold)
				}
				if diff := cmp.Diff(plan, Make(w.nodes, w.streams, w.settings)); diff != "" {
					t.Fatalf("the same input gave another plan:\n%s", diff)
				}
				again := Make(w.after(plan.Moves).nodes, w.after(plan.Moves).streams, w.settings)
				if plan.End != AtLimit && len(again.Moves) > 0 {
					t.Fatalf("planned again after %+v: %+v\nof %+v", plan, again, w)
				}
				if math.Abs(again.Before-plan.After) > 1e-6 && len(plan.Moves) > 0 {
					t.Fatalf("the plan promised a distance of %v, and it is %v", plan.After, again.Before)
				}
			})
		})
	}
}

func checkMoves(t *rapid.T, w world, moves []Move) {
	seen, in, out := map[string]bool{}, map[string]int{}, map[string]int{}
	if len(moves) > w.settings.MaxMoves {
		t.Fatalf("%d moves, at most %d are allowed", len(moves), w.settings.MaxMoves)
	}
	for _, move := range moves {
		stream, source, target := w.stream(move.Stream), w.node(move.Source), w.node(move.Target)
		in[target.Name]++
		out[source.Name]++
		limit := w.settings.MaxMovesPerNode
		switch {
		case seen[stream.ID]:
			t.Fatalf("%s is moved twice", stream.ID)
		case stream.Fixed || stream.Node != source.Name || source.Name == target.Name:
			t.Fatalf("%+v cannot be moved by %+v", stream, move)
		case source.Role == Outside || target.Role != GivesAndTakes:
			t.Fatalf("from %+v to %+v", source, target)
		case target.Used+in[target.Name] > target.Slots:
			t.Fatalf("%d more streams for %+v", in[target.Name], target)
		case limit > 0 && (in[target.Name] > limit || out[source.Name] > limit):
			t.Fatalf("more than %d moves at one node: %+v", limit, moves)
		case w.settings.Zones == WithinZones && source.Zone != target.Zone:
			t.Fatalf("%+v leaves its zone", move)
		}
		for label, value := range stream.Selector {
			if target.Labels[label] != value {
				t.Fatalf("%+v does not fit %+v", target, stream)
			}
		}
		seen[stream.ID] = true
	}
}
