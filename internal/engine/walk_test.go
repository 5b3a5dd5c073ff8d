package engine

import (
	"flag"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// The walk: walk_test.go walks every interleaving of a few sessions over one store, breadth first. Each store call is one step; a
// session may stop for ever before any of them; the answer to a create may be lost, and a create may be applied late.
// At every state a fresh reader must find every acknowledged record, once and in order. The sessions are the real
// machines: opening, proposal, merging, sweep. Mutants break one rule each, and each must be found.

// bounds keep a walk finite.
type bounds struct {
	epochs  int // sessions, one an epoch
	numbers SegmentNumber
	records int // of each session
	merges  int // of each session
	lost    int // answers to creates that are lost, in all
	late    int // creates that are applied late, in all
	anchors SegmentNumber
	hints   bool // sessions close, and the next ones are told where
	resumes int  // of each session, after it closed
}

// trail leads back from a state to the first.
type trail struct {
	parent int
	what   string
}

// run walks up to a number of states. It returns how many there are, and the story of a violation where it finds one.
func (w *walk) run(t *testing.T, statesAtMost int) (states int, story []string) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // the states stay, so collecting often is in vain
	w.readings = map[digest]string{}
	first := &node{}
	for e := range w.epochs {
		first.actors = append(first.actors, actor{epoch: Epoch(e + 1)})
	}
	seen := map[digest]bool{first.sum(): true}
	queue, trails := []*node{first}, []trail{{parent: -1}}
	for at := 0; at < len(queue); at++ {
		n := queue[at]
		queue[at] = nil
		if wrong := w.violation(n); wrong != "" {
			story = []string{wrong}
			for i := at; trails[i].parent >= 0; i = trails[i].parent {
				story = append(story, trails[i].what)
			}
			slices.Reverse(story)
			return at + 1, story
		}
		for _, s := range w.steps(n) {
			key := s.node.sum()
			if seen[key] {
				continue
			}
			seen[key] = true
			queue = append(queue, s.node)
			trails = append(trails, trail{parent: at, what: s.what})
		}
		if len(queue) > statesAtMost {
			t.Fatalf("more than %d states: the bounds are too wide", statesAtMost)
		}
	}
	return len(queue), nil
}

// deepFlag asks for the large worlds, which take minutes.
var deepFlag = flag.Bool("deep", false, "walk larger worlds: 2.5 million states, some minutes")

// TestTheLogIsWalked walks the rules as designed, in several small worlds.
func TestTheLogIsWalked(t *testing.T) {
	worlds := map[string]bounds{
		"a session merges while another opens":    {epochs: 2, numbers: 7, records: 5, merges: 2, anchors: 3},
		"three sessions open, and each may merge": {epochs: 3, numbers: 4, records: 2, merges: 1, anchors: 2},
		"answers are lost and creates come late":  {epochs: 2, numbers: 5, records: 2, merges: 1, lost: 1, late: 1, anchors: 2},
		"sessions close and hints are given":      {epochs: 3, numbers: 6, records: 1, merges: 1, anchors: 2, hints: true},
		"sessions close and go on":                {epochs: 2, numbers: 6, records: 2, merges: 1, anchors: 2, hints: true, resumes: 1},
		"sessions go on, answers are lost":        {epochs: 2, numbers: 5, records: 1, lost: 1, late: 1, anchors: 2, hints: true, resumes: 1},
	}
	if *deepFlag {
		worlds = map[string]bounds{
			"a session merges while two others open":           {epochs: 3, numbers: 6, records: 4, merges: 1, anchors: 3},
			"answers are lost and creates come late":           {epochs: 2, numbers: 6, records: 3, merges: 1, lost: 1, late: 1, anchors: 3},
			"a log has a hole before what is known of it":      {epochs: 3, numbers: 6, records: 3, merges: 1, anchors: 2},
			"sessions close and hints are given":               {epochs: 3, numbers: 7, records: 1, merges: 1, anchors: 3, hints: true},
			"two sessions merge, the second from a checkpoint": {epochs: 2, numbers: 7, records: 4, merges: 2, anchors: 3},
		}
	}
	for name, b := range worlds {
		t.Run(name, func(t *testing.T) {
			w := &walk{bounds: b, mutant: asDesigned}
			states, story := w.run(t, 2_000_000)
			t.Logf("%d states", states)
			for _, line := range story {
				t.Error(line)
			}
		})
	}
}

// TestBrokenRulesAreFound breaks one rule at a time, for which the walk must find a counterexample.
func TestBrokenRulesAreFound(t *testing.T) {
	merging := bounds{epochs: 2, numbers: 7, records: 5, merges: 1, anchors: 3}
	for m, b := range map[mutant]bounds{ //nolint:exhaustive // asDesigned breaks nothing
		withoutConfirming: merging,
		openingsDeleted:   merging,
		sweptBeforeAnchor: merging,
		anchorsDeleted:    merging,
		withoutLinks:      {epochs: 3, numbers: 5, records: 3, merges: 1, anchors: 2},
		takenIsMine:       {epochs: 2, numbers: 4, records: 2, anchors: 3},
		unknownIsDone:     {epochs: 2, numbers: 4, records: 2, late: 1, anchors: 3},
		unknownIsNext:     {epochs: 2, numbers: 5, records: 2, lost: 1, anchors: 3},
		resumesAnyhow:     {epochs: 2, numbers: 7, records: 4, merges: 1, anchors: 3, hints: true, resumes: 1},
		epochsIgnored:     {epochs: 3, numbers: 6, records: 2, anchors: 3},
	} {
		t.Run(string(m), func(t *testing.T) {
			w := &walk{bounds: b, mutant: m}
			states, story := w.run(t, 2_000_000)
			if story == nil {
				t.Fatalf("no counterexample in %d states", states)
			}
			t.Logf("found after %d states:\n  %s", states, strings.Join(story, "\n  "))
		})
	}
}
