package model

import (
	"fmt"
	"strings"

	"github.com/streamshift/streamshift/internal/handoff"
)

// finding is what a walk found.
type finding struct {
	states, edges int
	// problem is the promise that is broken; empty where all hold. story leads to it, a line a step.
	problem string
	story   []string
}

func (f finding) String() string {
	if f.problem == "" {
		return fmt.Sprintf("%d states, %d steps: every promise holds, and the stream can always come to rest", f.states, f.edges)
	}
	return fmt.Sprintf("%d states, %d steps: %s\n    %s", f.states, f.edges, f.problem, strings.Join(f.story, "\n    "))
}

// walk visits every state that can be reached, breadth first, so that a story is as short as possible. At each state the
// promises are looked at; at the end, whether each state can come to rest by the system's own steps.
func walk(a *arbiter, m mutant, b bounds) finding {
	a.mutate, a.unruled, a.memory = m.patch, m.unruled, map[proposal]answer{}
	transfers = b.transfers
	first := start(b)
	ids := map[world]int32{first: 0}
	states := []world{first}
	parents := []int32{-1}
	var from, to []int32 // the system's own steps
	var current int32
	edges := 0
	k := &walker{arbiter: a, mutant: m, decisions: map[decideKey]handoff.Decision{}, judgments: map[judgeKey]handoff.TransferDecision{}}
	k.yield = func(kind kind, _ func() string, next world) {
		edges++
		id, known := ids[next]
		if !known {
			id = int32(len(states)) //nolint:gosec // bounded by memory long before
			ids[next] = id
			states = append(states, next)
			parents = append(parents, current)
		}
		if kind == system {
			from, to = append(from, current), append(to, id)
		}
	}
	for int(current) < len(states) {
		if len(states) > 3000000 {
			return finding{len(states), edges, "CAP", nil}
		}
		w := states[current]
		if problem := k.violation(&w); problem != "" {
			return finding{len(states), edges, problem, k.story(states, parents, current)}
		}
		k.steps(&w)
		current++
	}
	if stuck := restless(states, from, to); stuck >= 0 {
		return finding{len(states), edges, "the stream cannot come to rest any more", k.story(states, parents, stuck)}
	}
	return finding{states: len(states), edges: edges}
}

// restless returns the first state from which no state at rest can be reached; -1 where there is none.
func restless(states []world, from, to []int32) int32 {
	// predecessors of i are sources[offsets[i]:offsets[i+1]]
	offsets := make([]int32, len(states)+1)
	for _, id := range to {
		offsets[id+1]++
	}
	for i := range states {
		offsets[i+1] += offsets[i]
	}
	sources, filled := make([]int32, len(to)), append([]int32(nil), offsets...)
	for i, id := range to {
		sources[filled[id]] = from[i]
		filled[id]++
	}
	reaches := make([]bool, len(states))
	var queue []int32
	for i := range states {
		if states[i].atRest() {
			reaches[i] = true
			queue = append(queue, int32(i))
		}
	}
	for len(queue) > 0 {
		id := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, source := range sources[offsets[id]:offsets[id+1]] {
			if !reaches[source] {
				reaches[source] = true
				queue = append(queue, source)
			}
		}
	}
	for i := range reaches {
		if !reaches[i] {
			return int32(i)
		}
	}
	return -1
}

// story names the steps that lead to a state.
func (k *walker) story(states []world, parents []int32, id int32) []string {
	var lines []string
	for parents[id] >= 0 {
		target, line := states[id], ""
		k.yield = func(_ kind, what func() string, next world) {
			if next == target && line == "" {
				line = what()
			}
		}
		w := states[parents[id]]
		k.steps(&w)
		lines = append([]string{line}, lines...)
		id = parents[id]
	}
	return lines
}

// highest is above every epoch that bounded users and faults can make necessary.
const highest = 14

// violation returns which promise a state breaks; empty for none.
func (k *walker) violation(w *world) string {
	serving := 0
	for i := int8(1); i <= nodeCount; i++ {
		if w.acknowledges(i) || k.mutant.unfenced && w.nodes[i].session.phase == handoff.SessionOpen {
			serving++
		}
	}
	switch {
	case serving > 1:
		return "two sessions acknowledge appends"
	case w.register.epoch < w.log.epoch:
		return "the register's epoch went back"
	case w.register.epoch > highest:
		return "epochs grow without end"
	}
	for i := 1; i <= transferCount; i++ {
		switch o := w.objects[i]; {
		case o.outcome != undecided && int(w.register.pending) == i:
			return "transfer " + transfers[i].name + " is pending though it has ended"
		case w.completed[i] > 1:
			return "transfer " + transfers[i].name + " was completed twice"
		case w.completed[i] == 0 && o.outcome == passedOn:
			return "transfer " + transfers[i].name + " was not completed, and is recorded as passed on"
		case w.completed[i] > 0 && (o.outcome == failed || o.outcome == cancelled):
			return "transfer " + transfers[i].name + " was completed, and is recorded as not"
		}
	}
	return ""
}
