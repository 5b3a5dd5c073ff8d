package rebalance

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var byCount = Weights{Count: 1}

// nodesNamed returns nodes that are well, with 100 slots each, as many taken as they have streams.
func nodesNamed(streams []Stream, names ...string) []Node {
	var nodes []Node
	for _, name := range names {
		node := Node{Name: name, Slots: 100, Role: GivesAndTakes}
		for _, stream := range streams {
			if stream.Node == name {
				node.Used++
			}
		}
		nodes = append(nodes, node)
	}
	return nodes
}

// streamsOn returns streams with these loads in bytes on a node.
func streamsOn(node string, bytes ...float64) []Stream {
	var streams []Stream
	for i, load := range bytes {
		streams = append(streams, Stream{ID: fmt.Sprintf("%s%d", node, i), Node: node, Load: Load{Bytes: load}})
	}
	return streams
}

func join(groups ...[]Stream) []Stream {
	var all []Stream
	for _, group := range groups {
		all = append(all, group...)
	}
	return all
}

func TestMake(t *testing.T) {
	even := Settings{Weights: byCount, Zones: AcrossZones, Threshold: 0.2, MaxMoves: 100}
	with := func(change func(*Settings)) Settings {
		s := even
		change(&s)
		return s
	}
	byBytes := with(func(s *Settings) { s.Weights = Weights{Bytes: 1} })
	for name, c := range map[string]struct {
		streams  []Stream
		nodes    []string
		change   func([]Node)
		settings Settings
		want     []Move
		wantEnd  End
	}{
		"an even cluster has no plan": {
			streams: join(streamsOn("a", 1, 1), streamsOn("b", 1, 1)), nodes: []string{"a", "b"}, settings: even, wantEnd: WithinThreshold},
		"a new node gets its share": {
			streams: streamsOn("a", 1, 1, 1, 1), nodes: []string{"a", "b"}, settings: even, want: []Move{{"a0", "a", "b"}, {"a1", "a", "b"}}, wantEnd: Even},
		"one heavy stream goes rather than many light ones": {
			streams: join(streamsOn("a", 10, 1, 1, 8), streamsOn("b")), nodes: []string{"a", "b"}, settings: byBytes, want: []Move{{"a0", "a", "b"}}, wantEnd: Even},
		"an exchange is found where no single move helps": {
			streams: join(streamsOn("a", 6, 5), streamsOn("b", 4, 3)), nodes: []string{"a", "b"},
			settings: with(func(s *Settings) { s.Weights = Weights{Bytes: 1}; s.Threshold = 0.05 }),
			want:     []Move{{"a1", "a", "b"}, {"b1", "b", "a"}}, wantEnd: Even},
		"a giant stays, since wherever it went would be worse": {
			streams: streamsOn("a", 100), nodes: []string{"a", "b", "c"}, settings: byBytes, wantEnd: NoBetterMove},
		"a draining node is left alone and gets nothing": {
			streams: join(streamsOn("a", 1, 1, 1, 1), streamsOn("c", 1, 1)), nodes: []string{"a", "b", "c"}, settings: even,
			change: func(n []Node) { n[1].Role = Outside }, want: []Move{{"a0", "a", "c"}}, wantEnd: Even},
		"a slow node gives and does not take": {
			streams: join(streamsOn("a", 1, 1, 1, 1), streamsOn("b", 1, 1)), nodes: []string{"a", "b", "c"}, settings: even,
			change: func(n []Node) { n[0].Role, n[1].Role = Gives, Gives }, want: []Move{{"a0", "a", "c"}, {"a1", "a", "c"}}, wantEnd: Even},
		"a full node gets nothing": {
			streams: streamsOn("a", 1, 1, 1, 1), nodes: []string{"a", "b"}, settings: even, change: func(n []Node) { n[1].Used = 100 }, wantEnd: NoBetterMove},
		"a node with twice the slots carries twice the load": {
			streams: streamsOn("a", 1, 1, 1), nodes: []string{"a", "b"}, settings: even, change: func(n []Node) { n[1].Slots = 200 },
			want: []Move{{"a0", "a", "b"}, {"a1", "a", "b"}}, wantEnd: Even},
		"a selector holds": {
			streams: []Stream{{ID: "s", Node: "a", Selector: map[string]string{"disk": "ssd"}}, {ID: "t", Node: "a", Selector: map[string]string{"disk": "ssd"}}},
			nodes:   []string{"a", "b", "c"}, settings: even, change: func(n []Node) { n[2].Labels = map[string]string{"disk": "ssd"} },
			want: []Move{{"s", "a", "c"}}, wantEnd: NoBetterMove},
		"streams keep to their zone where they are to": {
			streams: streamsOn("a", 1, 1, 1, 1), nodes: []string{"a", "b", "c"}, settings: with(func(s *Settings) { s.Zones = WithinZones }),
			change: func(n []Node) { n[0].Zone, n[1].Zone, n[2].Zone = "x", "y", "x" }, want: []Move{{"a0", "a", "c"}, {"a1", "a", "c"}}, wantEnd: Even},
		"a stream that is fixed stays, and counts": {
			streams: []Stream{{ID: "s", Node: "a", Fixed: true}, {ID: "t", Node: "a"}}, nodes: []string{"a", "b"}, settings: even, want: []Move{{"t", "a", "b"}}, wantEnd: Even},
		"the moves of one plan are bounded": {
			streams: streamsOn("a", 1, 1, 1, 1, 1, 1, 1, 1), nodes: []string{"a", "b"}, settings: with(func(s *Settings) { s.MaxMoves = 2 }),
			want: []Move{{"a0", "a", "b"}, {"a1", "a", "b"}}, wantEnd: AtLimit},
		"and those to one node: one that came back is filled slowly": {
			streams: streamsOn("a", 1, 1, 1, 1, 1, 1, 1, 1), nodes: []string{"a", "b"}, settings: with(func(s *Settings) { s.MaxMovesPerNode = 1 }),
			want: []Move{{"a0", "a", "b"}}, wantEnd: AtLimit},
		"no node": {settings: even, wantEnd: WithinThreshold},
		"no load of the kind that counts": {
			streams: streamsOn("a", 0, 0, 0), nodes: []string{"a", "b"}, settings: byBytes, wantEnd: WithinThreshold},
	} {
		t.Run(name, func(t *testing.T) {
			nodes := nodesNamed(c.streams, c.nodes...)
			if c.change != nil {
				c.change(nodes)
			}
			got := Make(nodes, c.streams, c.settings)
			if diff := cmp.Diff(c.want, got.Moves); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
			if got.End != c.wantEnd {
				t.Errorf("ended since %s, want %s", got.End, c.wantEnd)
			}
		})
	}
}
