package model

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/handoff"
)

func TestThePromisesHoldInEveryState(t *testing.T) {
	for name, b := range map[string]bounds{
		"opposing, nothing goes wrong":             {transfers: opposing},
		"opposing, a crash":                        {transfers: opposing, crashes: 1},
		"opposing, a cancellation":                 {transfers: opposing, cancels: 1},
		"opposing, a lost answer":                  {transfers: opposing, losses: 1},
		"contradicting, nothing goes wrong":        {transfers: contradicting},
		"contradicting, a cancellation":            {transfers: contradicting, cancels: 1},
		"contradicting, a deletion":                {transfers: contradicting, deletes: 1},
		"contradicting, a lease that runs out":     {transfers: contradicting, lapses: 1},
		"contradicting, two answers that get lost": {transfers: contradicting, losses: 2},
		"contradicting, a source is cut off":       {transfers: contradicting, cutoffs: 1},
		"opposing, a source is cut off":            {transfers: opposing, cutoffs: 1},
		"contradicting, an opening comes late":     {transfers: contradicting, lates: 1},
		"a target dies before it has opened":       {transfers: contradicting, crashes: 1, onlyTarget: true},
	} {
		t.Run(name, func(t *testing.T) {
			a := must(newArbiter())
			began := time.Now()
			found := walk(a, mutant{}, b)
			t.Logf("%s, in %s", found, time.Since(began).Round(time.Millisecond))
			if found.problem != "" {
				t.Error(found.problem)
			}
		})
	}
}

// TestTheServersRulesAloneKeepThePromises: steps that test nothing do no harm, since the CRD's rules refuse.
func TestTheServersRulesAloneKeepThePromises(t *testing.T) {
	found := walk(must(newArbiter()), mutant{patch: without("/")}, bounds{transfers: contradicting, cancels: 1})
	t.Log(found)
	if found.problem != "" && !strings.Contains(found.problem, "recorded as not") {
		t.Error(found.problem)
	}
}

// without removes the tests of the paths that contain a word.
func without(word string) func([]operation) []operation {
	return func(all []operation) []operation {
		var kept []operation
		for _, o := range all {
			if o.Op != "test" || !strings.Contains(o.Path, word) {
				kept = append(kept, o)
			}
		}
		return kept
	}
}

// written makes the tests of the paths that contain a word writes of what was seen there.
func written(word string) func([]operation) []operation {
	return func(all []operation) []operation {
		changed := slices.Clone(all)
		for i := range changed {
			if changed[i].Op == "test" && strings.Contains(changed[i].Path, word) {
				changed[i].Op = "add"
			}
		}
		return changed
	}
}

func TestABrokenRuleIsFound(t *testing.T) {
	for _, c := range []struct {
		mutant mutant
		bounds bounds
	}{
		{mutant{name: "steps test nothing, and the CRD has no rules", patch: without("/"), unruled: true}, bounds{transfers: contradicting, cancels: 1}},
		{mutant{name: "the epoch is written and not tested, and the CRD has no rules", patch: written("epoch"), unruled: true}, bounds{transfers: opposing, crashes: 1}},
		{mutant{name: "the pending transfer is not tested, and the CRD has no rules", patch: without("pendingTransfer"), unruled: true}, bounds{transfers: contradicting, cancels: 1}},
		{mutant{name: "the log fences nobody", unfenced: true}, bounds{transfers: contradicting, lapses: 1}},
		{mutant{name: "that nothing moved is recorded without reading the register afresh", staleOutcome: true}, bounds{transfers: contradicting, lapses: 1, losses: 1}},
		{mutant{name: "the outcome of the last transfer is not recorded first", decideTransfer: func(v handoff.TransferView) handoff.TransferDecision {
			v.LastSettled = true
			return handoff.DecideTransfer(v)
		}}, bounds{transfers: contradicting}},
		{mutant{name: "a stream leaves no node that is gone before it has opened it", waitsForTheDead: true}, bounds{transfers: contradicting, crashes: 1, onlyTarget: true}},
		{mutant{name: "nobody reopens", decide: func(me string, r *v1alpha1.StreamStatus, s handoff.Session) handoff.Decision {
			d := handoff.Decide(me, r, s)
			if d.Action == handoff.Reopen {
				d.Action = handoff.Wait
			}
			return d
		}}, bounds{transfers: opposing, cancels: 1}},
	} {
		t.Run(c.mutant.name, func(t *testing.T) {
			found := walk(must(newArbiter()), c.mutant, c.bounds)
			t.Log(found)
			if found.problem == "" {
				t.Error("no promise is broken: the walk would not notice")
			}
		})
	}
}
