package rebalance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
)

const (
	comparedWorlds = 3000
	// slack is how much worse than the best a plan may be.
	slack = 1.1
)

// optimum is what the best distribution reaches, found without anything of this package.
type optimum struct {
	distance float64
	// moves to come within the goal; -1 where no distribution does.
	moves int
}

// seed of the random worlds: from SEED, or a new one, which is printed.
func seed(t *testing.T) uint64 {
	t.Helper()
	value := rand.Uint64()
	if given := os.Getenv("SEED"); given != "" {
		parsed, err := strconv.ParseUint(given, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		value = parsed
	}
	t.Logf("SEED=%d", value)
	return value
}

func randomWorld(random *rand.Rand) world {
	w := world{settings: Settings{Weights: Weights{Bytes: 1}, Zones: AcrossZones, Threshold: 0.2, MaxMoves: 100}}
	for i := range 2 + random.IntN(3) {
		w.nodes = append(w.nodes, Node{Name: fmt.Sprintf("n%d", i), Slots: 8 * (1 + random.IntN(2)), Role: GivesAndTakes})
	}
	for i := range 1 + random.IntN(6) {
		at := random.IntN(len(w.nodes))
		w.nodes[at].Used++
		w.streams = append(w.streams, Stream{ID: fmt.Sprintf("s%d", i), Node: w.nodes[at].Name, Load: Load{Bytes: float64(1 + random.IntN(20))}})
	}
	return w
}

// best tries every distribution.
func best(w world) optimum {
	total, slots := 0.0, 0.0
	for _, s := range w.streams {
		total += s.Load.Bytes
	}
	for _, n := range w.nodes {
		slots += float64(n.Slots)
	}
	found := optimum{distance: math.Inf(1), moves: -1}
	number := int(math.Pow(float64(len(w.nodes)), float64(len(w.streams))) + 0.5)
	for code := range number {
		loads, moves, rest := make([]float64, len(w.nodes)), 0, code
		for _, s := range w.streams {
			at := rest % len(w.nodes)
			rest /= len(w.nodes)
			loads[at] += s.Load.Bytes
			if w.nodes[at].Name != s.Node {
				moves++
			}
		}
		distance := 0.0
		for i, load := range loads {
			distance = max(distance, math.Abs(load/(total*float64(w.nodes[i].Slots)/slots)-1))
		}
		found.distance = min(found.distance, distance)
		if distance <= w.settings.goal()+rounding && (found.moves < 0 || moves < found.moves) {
			found.moves = moves
		}
	}
	return found
}

// fault says how a plan is worse than the best by more than the slack; empty where it is not.
func fault(w world, p Plan, o optimum) string {
	switch {
	case p.Before <= w.settings.Threshold:
		return ""
	case o.moves >= 0 && p.After > w.settings.goal()+rounding:
		return "does not come within the goal: no move helps, and no exchange of two streams"
	case o.moves >= 0 && float64(len(p.Moves)) > slack*float64(o.moves):
		return "makes more moves: each is the best by itself, not the best together"
	case o.moves < 0 && p.After > slack*o.distance:
		return "is less even: no move helps, and no exchange of two streams"
	}
	return ""
}

func TestPlansOfFewStreamsAreAsGoodAsAnExhaustiveSearch(t *testing.T) {
	random := rand.New(rand.NewPCG(seed(t), 0))
	planned, reasons := 0, map[string]int{}
	for range comparedWorlds {
		w := randomWorld(random)
		o := best(w)
		plan := Make(w.nodes, w.streams, w.settings)
		if reason := fault(w, plan, o); reason != "" {
			t.Fatalf("%+v\n%s: %+v, the best is %+v", w, reason, plan, o)
		}
		if len(plan.Moves) == 0 {
			continue
		}
		planned++
		// What climbing, the way for many streams, would have made of the same.
		p := prepare(w.nodes, w.streams, w.settings)
		climbed := Plan{Before: plan.Before, End: p.climb()}
		climbed.Moves, climbed.After = p.moves, p.imbalance()
		if reason := fault(w, climbed, o); reason != "" {
			reasons[reason]++
		}
	}
	if planned == 0 {
		t.Fatal("no world needed a plan")
	}
	t.Logf("%d worlds needed a plan; by search all are within 10 %% of the best", planned)
	for reason, count := range reasons {
		t.Logf("by climbing, %d of them (%.1f %%): %s", count, 100*float64(count)/float64(planned), reason)
	}
}
