package placement

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var plenty = Limits{Total: 100, PerSource: 100, PerTarget: 100}

func streamsNamed(names ...string) []LeavingStream {
	var streams []LeavingStream
	for _, name := range names {
		streams = append(streams, LeavingStream{Stream: name})
	}
	return streams
}

func TestPlanLeave(t *testing.T) {
	leaving := Node{Name: "a", Slots: 10, Used: 2, Unfit: "is draining"}
	for name, c := range map[string]struct {
		nodes       []Node
		leaving     []Leaving
		underWay    UnderWay
		limits      Limits
		wantMoves   []Move
		wantBlocked map[string][]Blocker
	}{
		"streams spread over the other nodes": {
			nodes: []Node{leaving, {Name: "b", Slots: 10}, {Name: "c", Slots: 10, Used: 1}}, leaving: []Leaving{{Node: "a", Streams: streamsNamed("s2", "s1", "s3")}}, limits: plenty,
			wantMoves: []Move{{"s1", "a", "b"}, {"s2", "a", "b"}, {"s3", "a", "c"}}},
		"a source has at most its share under way": {
			nodes: []Node{leaving, {Name: "b", Slots: 10}}, leaving: []Leaving{{Node: "a", Streams: streamsNamed("s1", "s2", "s3")}},
			underWay: UnderWay{Total: 1, BySource: map[string]int{"a": 1}}, limits: Limits{Total: 100, PerSource: 2, PerTarget: 100},
			wantMoves: []Move{{"s1", "a", "b"}}},
		"sources take turns under the limit in all": {
			nodes:   []Node{leaving, {Name: "c", Slots: 10, Unfit: "is draining"}, {Name: "b", Slots: 10}},
			leaving: []Leaving{{Node: "a", Streams: streamsNamed("a1", "a2", "a3")}, {Node: "c", Streams: streamsNamed("c1")}}, limits: Limits{Total: 2, PerSource: 10, PerTarget: 10},
			wantMoves: []Move{{"a1", "a", "b"}, {"c1", "c", "b"}}},
		"a target with its share under way is passed over, and nothing is blocked by that": {
			nodes: []Node{leaving, {Name: "b", Slots: 10}}, leaving: []Leaving{{Node: "a", Streams: streamsNamed("s1", "s2")}}, limits: Limits{Total: 100, PerSource: 100, PerTarget: 1},
			wantMoves: []Move{{"s1", "a", "b"}}},
		"a target that keeps requests waiting gets less than its share": {
			nodes: []Node{leaving, {Name: "b", Slots: 10}}, leaving: []Leaving{{Node: "a", Streams: streamsNamed("s1", "s2")}},
			limits:    Limits{Total: 100, PerSource: 100, PerTarget: 100, Shares: map[string]int{"b": 1}},
			wantMoves: []Move{{"s1", "a", "b"}}},
		"one node in all: no target, said at once": {
			nodes: []Node{leaving}, leaving: []Leaving{{Node: "a", Streams: streamsNamed("s1")}}, limits: plenty,
			wantBlocked: map[string][]Blocker{"a": {{"s1", BlockedByNoTarget, "of 1 nodes none fits: 1 is draining"}}}},
		"slots run out in the middle": {
			nodes: []Node{leaving, {Name: "b", Slots: 1}}, leaving: []Leaving{{Node: "a", Streams: streamsNamed("s1", "s2")}}, limits: plenty,
			wantMoves: []Move{{"s1", "a", "b"}}, wantBlocked: map[string][]Blocker{"a": {{"s2", BlockedByNoTarget, "of 2 nodes none fits: 1 has no free slot, 1 is draining"}}}},
		"a stream that stays blocks, one that moves already does not": {
			nodes:   []Node{leaving, {Name: "b", Slots: 10}},
			leaving: []Leaving{{Node: "a", Streams: []LeavingStream{{Stream: "s1", Stays: true}, {Stream: "s2", Moving: true}}}}, limits: plenty,
			wantBlocked: map[string][]Blocker{"a": {{"s1", BlockedByPolicy, "spec.drainPolicy is Stay"}}}},
		"a selector that no other node matches blocks": {
			nodes:   []Node{leaving, {Name: "b", Slots: 10}},
			leaving: []Leaving{{Node: "a", Streams: []LeavingStream{{Stream: "s1", Selector: map[string]string{"disk": "ssd"}}}}}, limits: plenty,
			wantBlocked: map[string][]Blocker{"a": {{"s1", BlockedByNoTarget, "of 2 nodes none fits: 2 does not match spec.nodeSelector"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.wantBlocked == nil {
				c.wantBlocked = map[string][]Blocker{}
			}
			moves, blocked := PlanLeave(c.nodes, c.leaving, c.underWay, c.limits)
			if diff := cmp.Diff(c.wantMoves, moves); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.wantBlocked, blocked); diff != "" {
				t.Errorf("blocked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlanLeaveKeepsLimitsAndSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var nodes []Node
		var leaving []Leaving
		for i := range rapid.IntRange(1, 5).Draw(t, "nodes") {
			node := Node{Name: fmt.Sprintf("n%d", i), Slots: rapid.IntRange(0, 8).Draw(t, "slots"), Used: rapid.IntRange(0, 8).Draw(t, "used")}
			if rapid.Bool().Draw(t, "leaving") {
				node.Unfit = "is draining"
				var names []string
				for j := range rapid.IntRange(0, 6).Draw(t, "streams") {
					names = append(names, fmt.Sprintf("n%d-s%d", i, j))
				}
				leaving = append(leaving, Leaving{Node: node.Name, Streams: streamsNamed(names...)})
			}
			nodes = append(nodes, node)
		}
		limits := Limits{Total: rapid.IntRange(1, 6).Draw(t, "total"), PerSource: rapid.IntRange(1, 4).Draw(t, "perSource"), PerTarget: rapid.IntRange(1, 4).Draw(t, "perTarget")}
		moves, _ := PlanLeave(nodes, leaving, UnderWay{}, limits)

		seen, bySource, byTarget := map[string]bool{}, map[string]int{}, map[string]int{}
		for _, move := range moves {
			if seen[move.Stream] {
				t.Fatalf("stream %s is moved twice", move.Stream)
			}
			seen[move.Stream] = true
			bySource[move.Source]++
			byTarget[move.Target]++
		}
		if len(moves) > limits.Total {
			t.Fatalf("%d moves, limit %d", len(moves), limits.Total)
		}
		for _, node := range nodes {
			if bySource[node.Name] > limits.PerSource || byTarget[node.Name] > limits.PerTarget {
				t.Fatalf("node %s: %d from, %d to it, limits %+v", node.Name, bySource[node.Name], byTarget[node.Name], limits)
			}
			if byTarget[node.Name] > 0 && (node.Unfit != "" || node.Used+byTarget[node.Name] > node.Slots) {
				t.Fatalf("node %+v gets %d", node, byTarget[node.Name])
			}
		}
	})
}

// F6: an unbounded batch exceeded a limit, failed as a whole, and was made anew even larger.
func TestADrainOf20000StreamsStartsAsManyAsTheLimitsAllow(t *testing.T) {
	const streams = 20_000
	names := make([]string, 0, streams)
	for i := range streams {
		names = append(names, fmt.Sprintf("s%05d", i))
	}
	nodes := []Node{{Name: "a", Slots: streams, Used: streams, Unfit: "is draining"}, {Name: "b", Slots: streams}, {Name: "c", Slots: streams}}
	limits := Limits{Total: 64, PerSource: 32, PerTarget: 32}
	moves, blocked := PlanLeave(nodes, []Leaving{{Node: "a", Streams: streamsNamed(names...)}}, UnderWay{}, limits)
	if len(moves) != limits.PerSource || len(blocked) != 0 {
		t.Errorf("%d transfers at once, %d nodes blocked; want %d and none", len(moves), len(blocked), limits.PerSource)
	}
}
