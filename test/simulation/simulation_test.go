package simulation

import (
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/streamshift/streamshift/internal/rebalance"
)

func settings() rebalance.Settings {
	return rebalance.Settings{
		Weights: rebalance.Weights{Bytes: 1, Requests: 1, Count: 1}, Zones: rebalance.AcrossZones, Threshold: 0.2, MaxMoves: 20, MaxMovesPerNode: 5,
	}
}

// seeded returns chance from SEED, or from a new seed, which is printed.
func seeded(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if given := os.Getenv("SEED"); given != "" {
		parsed, err := strconv.ParseUint(given, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = parsed
	}
	t.Logf("SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// F2: a stream came back to the node that it had left, and hundreds of transfers were made of load that only came and went.
func TestTwoHoursOfSkewedAndThenOscillatingLoad(t *testing.T) {
	const (
		nodes, streams = 10, 1000
		// budget is how many transfers may be made in the two hours: a fifth of the streams.
		budget = 200
		// oscillatingBudget is how many of them while load comes and goes with a period of a minute.
		oscillatingBudget = 20
		// evenWithin is when the first hour's skew must be gone.
		evenWithin = 30 * time.Minute
	)
	w := newWorld(seeded(t), nodes, streams, settings())
	before, reached := w.imbalance(), time.Duration(0)
	w.run(time.Hour, func() {
		if reached == 0 && w.imbalance() <= w.settings.Threshold {
			reached = w.now
		}
	})
	skewed, skewedWrites, afterSkew := w.moves, w.writes, w.imbalance()

	// Half of the nodes' streams are busy in the first half of each minute, the others in the second.
	home := map[string]int{}
	for _, s := range w.streams {
		home[s.id] = s.node
	}
	w.factor = func(s *stream, at time.Duration) float64 {
		phase := 2*math.Pi*at.Seconds()/60 + math.Pi*float64(home[s.id]%2)
		return 1 + 0.9*math.Sin(phase)
	}
	worst := 0.0
	w.run(2*time.Hour, func() { worst = max(worst, w.imbalance()) })
	t.Logf("skewed: largest distance from the fair share %.0f %%, then %.0f %%; within %.0f %% after %v; %d transfers, %d reports",
		100*before, 100*afterSkew, 100*w.settings.Threshold, reached, skewed, skewedWrites)
	t.Logf("oscillating: %d transfers, largest distance %.0f %%, %d reports of %d nodes in an hour; %d plans in all",
		w.moves-skewed, 100*worst, w.writes-skewedWrites, nodes, w.plans)

	if reached == 0 || reached > evenWithin {
		t.Errorf("even after %v, want within %v", reached, evenWithin)
	}
	if w.moves > budget || w.moves-skewed > oscillatingBudget {
		t.Errorf("%d transfers, %d of them while load came and went; want at most %d and %d", w.moves, w.moves-skewed, budget, oscillatingBudget)
	}
	if len(w.early) > 0 {
		t.Errorf("streams were moved in their cool-down: %v", w.early)
	}
	if worst > 2*w.settings.Threshold {
		t.Errorf("a node was %.0f %% from its fair share while load came and went", 100*worst)
	}
}

// Load whose period is longer than the averages moves streams to and fro for ever, unless each time takes longer.
func TestAStreamThatIsMovedAgainAndAgainStaysLongerEachTime(t *testing.T) {
	const streams = 40
	everyHour := settings()
	everyHour.Threshold = 0.1
	w := newWorld(seeded(t), 4, streams, everyHour)
	moved := map[*stream][]time.Duration{}
	w.factor = func(s *stream, at time.Duration) float64 {
		// Each stream in turn has nearly all the load for a quarter of an hour.
		if int(at/(15*time.Minute))%4 == int(s.id[len(s.id)-1])%4 {
			return 40
		}
		return 1
	}
	w.run(24*time.Hour, func() {
		for _, s := range w.streams {
			if at := moved[s]; s.moved && (len(at) == 0 || at[len(at)-1] != s.movedAt) {
				moved[s] = append(at, s.movedAt)
			}
		}
	})
	most := 0
	for _, at := range moved {
		most = max(most, len(at))
	}
	// A day has room for 144 times 10 minutes. Without doubling a stream would be moved each time that its turn comes: 48 times.
	const limit = 24
	t.Logf("%d transfers in 24 h, of one stream at most %d", w.moves, most)
	if most == 0 || most > limit {
		t.Errorf("a stream was moved %d times in a day, want 1 to %d", most, limit)
	}
	if len(w.early) > 0 {
		t.Errorf("streams were moved in their cool-down: %v", w.early)
	}
}

func TestPlanningFor100000StreamsOn100Nodes(t *testing.T) {
	large := settings()
	large.MaxMoves, large.MaxMovesPerNode = 1000, 0
	w := newWorld(seeded(t), 100, 100_000, large)
	w.look()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	w.plan()
	took := time.Since(began)
	runtime.ReadMemStats(&after)
	t.Logf("%d transfers planned in %v with %d MiB", w.moves, took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20)
	if w.moves == 0 || w.moves > large.MaxMoves {
		t.Errorf("%d transfers, want 1 to %d", w.moves, large.MaxMoves)
	}
	if allocated := (after.TotalAlloc - before.TotalAlloc) >> 20; allocated > 512 {
		t.Errorf("planning took %d MiB", allocated)
	}
}
