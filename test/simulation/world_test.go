package simulation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/streamshift/streamshift/internal/load"
	"github.com/streamshift/streamshift/internal/rebalance"
)

const (
	slots     = 2000
	lookEvery = 10 * time.Second // how often an agent samples
	tellEvery = 30 * time.Second // how often it writes a report at most
	planEvery = time.Minute
)

var coolDown = rebalance.CoolDown{Base: 10 * time.Minute, Max: 4 * time.Hour}

type stream struct {
	id   string
	node int
	// bytes a second on average.
	bytes float64
	// last is when it was moved, and the cool-down that it was given.
	moved    bool
	movedAt  time.Duration
	coolDown time.Duration
}

type node struct {
	name   string
	meter  *load.Meter
	told   load.Report
	toldAt time.Duration
}

// world has streams on nodes, and a clock.
type world struct {
	now      time.Duration
	nodes    []*node
	streams  []*stream
	settings rebalance.Settings
	// factor is what a stream's load is multiplied with at a moment.
	factor func(s *stream, at time.Duration) float64

	moves, plans, writes int
	// early are moves within a stream's cool-down.
	early []string
}

// newWorld has streams in equal numbers on nodes, with a load that is skewed twice: a few streams have most of it, and the
// nodes got them unevenly.
func newWorld(random *rand.Rand, nodes, streams int, settings rebalance.Settings) *world {
	w := &world{settings: settings, factor: func(*stream, time.Duration) float64 { return 1 }}
	for i := range nodes {
		w.nodes = append(w.nodes, &node{name: fmt.Sprintf("node-%02d", i), meter: load.NewMeter(), toldAt: -tellEvery})
	}
	for i := range streams {
		at := i % nodes
		zipf := 2e6 / math.Pow(float64(1+random.IntN(streams)), 0.8)
		w.streams = append(w.streams, &stream{id: fmt.Sprintf("default/stream-%05d", i), node: at, bytes: zipf * float64(1+3*at) / 4})
	}
	return w
}

// run lets time pass, and plans along the way.
func (w *world) run(until time.Duration, each func()) {
	for w.now < until {
		w.now += lookEvery
		w.look()
		if w.now%planEvery == 0 {
			w.plan()
		}
		if each != nil {
			each()
		}
	}
}

func (w *world) look() {
	samples := make([]map[string]load.Sample, len(w.nodes))
	for i := range samples {
		samples[i] = map[string]load.Sample{}
	}
	for _, s := range w.streams {
		bytes := s.bytes * w.factor(s, w.now) * lookEvery.Seconds()
		appends := int64(bytes/1000) + 1
		samples[s.node][s.id] = load.Sample{Bytes: int64(bytes), Requests: appends, Appends: appends, AppendTime: time.Duration(appends) * 3 * time.Millisecond}
	}
	for i, n := range w.nodes {
		n.meter.Observe(samples[i], lookEvery)
		report := n.meter.Report()
		if w.now-n.toldAt >= tellEvery && load.Significant(&n.told, &report) {
			n.told, n.toldAt = report, w.now
			w.writes++
		}
	}
}

func (w *world) plan() {
	owned := make([][]string, len(w.nodes))
	for _, s := range w.streams {
		owned[s.node] = append(owned[s.node], s.id)
	}
	var nodes []rebalance.Node
	rates := make([]map[string]load.Rate, len(w.nodes))
	byName := map[string]int{}
	for i, n := range w.nodes {
		rates[i] = load.Estimate(&n.told, owned[i])
		nodes = append(nodes, rebalance.Node{Name: n.name, Slots: slots, Used: len(owned[i]), Role: rebalance.GivesAndTakes})
		byName[n.name] = i
	}
	streams := make([]rebalance.Stream, 0, len(w.streams))
	byID := make(map[string]*stream, len(w.streams))
	for _, s := range w.streams {
		rate := rates[s.node][s.id]
		byID[s.id] = s
		streams = append(streams, rebalance.Stream{
			ID: s.id, Node: w.nodes[s.node].name, Load: rebalance.Load(rate), Fixed: s.moved && coolDown.Left(s.last(w.now)) > 0,
		})
	}
	plan := rebalance.Make(nodes, streams, w.settings)
	if len(plan.Moves) > 0 {
		w.plans++
	}
	for _, move := range plan.Moves {
		w.move(byID[move.Stream], byName[move.Target])
	}
}

func (w *world) move(s *stream, target int) {
	given := coolDown.Base
	if s.moved {
		if w.now-s.movedAt < s.coolDown {
			w.early = append(w.early, fmt.Sprintf("%s at %v, %v after the last time", s.id, w.now, w.now-s.movedAt))
		}
		given = coolDown.Next(s.last(w.now))
	}
	s.node, s.moved, s.movedAt, s.coolDown = target, true, w.now, given
	w.moves++
}

func (s *stream) last(now time.Duration) rebalance.Last {
	return rebalance.Last{Ago: now - s.movedAt, CoolDown: s.coolDown}
}

// imbalance is the largest distance of a node's true mean load from its fair share, as the plans weigh it: bytes, requests
// (which are in proportion to bytes here) and the number of streams alike.
func (w *world) imbalance() float64 {
	bytes, count, total := make([]float64, len(w.nodes)), make([]float64, len(w.nodes)), 0.0
	for _, s := range w.streams {
		bytes[s.node] += s.bytes
		count[s.node]++
		total += s.bytes
	}
	largest := 0.0
	for i := range w.nodes {
		share := (2*bytes[i]/total + count[i]/float64(len(w.streams))) / 3
		largest = max(largest, math.Abs(share*float64(len(w.nodes))-1))
	}
	return largest
}
