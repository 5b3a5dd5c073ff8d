package placement

import (
	"cmp"
	"maps"
	"slices"
)

// Leaving is a node whose streams are to go elsewhere.
type Leaving struct {
	Node string
	// Streams that the node owns, in any order.
	Streams []LeavingStream
}

// LeavingStream is a stream of a leaving node.
type LeavingStream struct {
	// Stream names the stream for people and is an identity for the choice of a target.
	Stream string
	// Selector has the labels that the target must have. A wish for the leaving node itself does not count: leaving wins
	// over preference.
	Selector map[string]string
	// Stays tells that the stream's policy is to stay where it is.
	Stays bool
	// Moving tells that a transfer of the stream is under way already.
	Moving bool
}

// Move is a transfer to be made.
type Move struct {
	Stream, Source, Target string
}

// Blocker is a stream that cannot leave now, with the reason: one word, and one sentence.
type Blocker struct {
	Stream, Reason, Message string
}

// Reasons of blockers.
const (
	BlockedByPolicy   = "StayPolicy"
	BlockedByNoTarget = "NoEligibleTarget"
)

// Limits bound the transfers that are under way at the same time, in all, from one node, and to one node.
type Limits struct {
	Total, PerSource, PerTarget int
	// Shares has the nodes that get less than PerTarget, since they keep requests waiting; see Pace.
	Shares map[string]int
}

// perTarget returns how many transfers to the node may be under way.
func (l *Limits) perTarget(node string) int {
	if share, slowed := l.Shares[node]; slowed {
		return min(share, l.PerTarget)
	}
	return l.PerTarget
}

// UnderWay counts the transfers that are under way: in all, by source, and by target.
type UnderWay struct {
	Total              int
	BySource, ByTarget map[string]int
}

// PlanLeave returns the transfers to make now, within the limits, and for each leaving node the streams that cannot
// leave. The nodes' used slots must include what is under way. Sources take turns, so that none fills the limits, and
// targets are chosen one after the other, so that they fill evenly.
func PlanLeave(nodes []Node, leaving []Leaving, underWay UnderWay, limits Limits) ([]Move, map[string][]Blocker) {
	p := &leavePlan{
		nodes: slices.Clone(nodes), limits: limits, blocked: map[string][]Blocker{},
		total: underWay.Total, bySource: clone(underWay.BySource), byTarget: clone(underWay.ByTarget),
	}
	queues := slices.Clone(leaving)
	slices.SortFunc(queues, func(a, b Leaving) int { return cmp.Compare(a.Node, b.Node) })
	for i := range queues {
		queues[i].Streams = slices.SortedFunc(slices.Values(queues[i].Streams), func(a, b LeavingStream) int { return cmp.Compare(a.Stream, b.Stream) })
	}
	for progress := true; progress; {
		progress = false
		for i := range queues {
			if len(queues[i].Streams) > 0 {
				p.consider(queues[i].Node, queues[i].Streams[0])
				queues[i].Streams = queues[i].Streams[1:]
				progress = true
			}
		}
	}
	return p.moves, p.blocked
}

type leavePlan struct {
	nodes              []Node
	limits             Limits
	total              int
	bySource, byTarget map[string]int
	moves              []Move
	blocked            map[string][]Blocker
}

// consider plans the transfer of one stream, or says why it cannot leave. A stream that must only wait for its turn is
// neither planned nor blocked.
func (p *leavePlan) consider(source string, stream LeavingStream) {
	switch {
	case stream.Moving:
		return
	case stream.Stays:
		p.block(source, Blocker{stream.Stream, BlockedByPolicy, "spec.drainPolicy is Stay"})
		return
	}
	demand := Demand{Stream: stream.Stream, Selector: stream.Selector}
	if !anyFits(p.nodes, demand) {
		_, reason := Choose(p.nodes, demand)
		p.block(source, Blocker{stream.Stream, BlockedByNoTarget, reason})
		return
	}
	if p.total >= p.limits.Total || p.bySource[source] >= p.limits.PerSource {
		return
	}
	target, _ := Choose(p.open(), demand)
	if target == "" {
		return // every node that would do has its share under way
	}
	p.moves = append(p.moves, Move{stream.Stream, source, target})
	p.total++
	p.bySource[source]++
	p.byTarget[target]++
	for i := range p.nodes {
		if p.nodes[i].Name == target {
			p.nodes[i].Used++
		}
	}
}

// open returns the nodes that may get one more transfer now.
func (p *leavePlan) open() []Node {
	open := make([]Node, 0, len(p.nodes))
	for _, node := range p.nodes {
		if p.byTarget[node.Name] < p.limits.perTarget(node.Name) {
			open = append(open, node)
		}
	}
	return open
}

func (p *leavePlan) block(source string, blocker Blocker) {
	p.blocked[source] = append(p.blocked[source], blocker)
}

func clone(counts map[string]int) map[string]int {
	copied := make(map[string]int, len(counts))
	maps.Copy(copied, counts)
	return copied
}
