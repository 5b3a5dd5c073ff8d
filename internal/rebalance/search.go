package rebalance

import (
	"math"
)

// searchLimit bounds the distributions of streams over nodes that are tried one by one.
const searchLimit = 5000

// small tells whether every distribution can be tried. It depends on nothing that a plan changes, so that the plan of a
// plan's result is made the same way.
func (p *planner) small() bool {
	distributions := 1.0
	for range p.streams {
		if distributions *= float64(len(p.sites)); distributions > searchLimit {
			return false
		}
	}
	return true
}

// search tries every distribution and takes the best one: for few streams, where one at a time would miss exchanges.
func (p *planner) search() End {
	s := &searcher{planner: p}
	for _, from := range p.sites {
		for _, c := range from.classes {
			for _, it := range c.streams {
				s.choices = append(s.choices, choice{from: from, class: c, item: it})
			}
		}
	}
	s.best, s.free = s.judge(), s.judge()
	s.descend(0)
	for _, m := range s.bestMoves {
		p.apply(m.from, m.to, m.item)
	}
	switch {
	case p.imbalance() <= p.settings.goal():
		return Even
	case s.free.better(s.best):
		return AtLimit
	}
	return NoBetterMove
}

type choice struct {
	from, to *site
	class    *class
	item     item
}

type searcher struct {
	*planner
	choices []choice
	taken   []choice
	// best is what the moves within the limits reach, free what moves without limits would.
	best, free verdict
	bestMoves  []choice
}

// verdict on a distribution, the most important first: how far the worst site is beyond the goal, how far all of them are,
// the number of moves, and how far the worst site is from its fair share.
type verdict struct {
	worst, all float64
	moves      int
	distance   float64
}

func (v verdict) better(than verdict) bool {
	for _, pair := range [][2]float64{{v.worst, than.worst}, {v.all, than.all}, {float64(v.moves), float64(than.moves)}, {v.distance, than.distance}} {
		if math.Abs(pair[0]-pair[1]) > rounding {
			return pair[0] < pair[1]
		}
	}
	return false
}

func (s *searcher) judge() verdict {
	v := verdict{moves: len(s.taken), distance: s.imbalance()}
	for _, at := range s.sites {
		beyond := max(0, math.Abs(s.distance(at, at.load))-s.settings.goal())
		v.worst = max(v.worst, beyond)
		v.all += beyond * beyond * at.capacity
	}
	return v
}

// descend decides about the choices from the given one on.
func (s *searcher) descend(at int) {
	if at == len(s.choices) {
		v := s.judge()
		possible, now := s.feasible()
		if possible && v.better(s.free) {
			s.free = v
		}
		if now && v.better(s.best) {
			s.best, s.bestMoves = v, append([]choice(nil), s.taken...)
		}
		return
	}
	c := s.choices[at]
	for _, to := range s.sites {
		if to == c.from || to.group != c.from.group || !to.fits(c.class.selector) {
			continue
		}
		c.to = to
		s.taken = append(s.taken, c)
		c.from.load, to.load = c.from.load-c.item.weight, to.load+c.item.weight
		c.from.out, to.in = c.from.out+1, to.in+1
		s.descend(at + 1)
		c.from.out, to.in = c.from.out-1, to.in-1
		c.from.load, to.load = c.from.load+c.item.weight, to.load-c.item.weight
		s.taken = s.taken[:len(s.taken)-1]
	}
	s.descend(at + 1) // it stays
}

// feasible tells whether the choices taken are possible at all, and whether this plan may have them: all at the same time,
// within the limits.
func (s *searcher) feasible() (possible, now bool) {
	limit := s.settings.MaxMovesPerNode
	now = len(s.taken) <= s.settings.MaxMoves
	for _, at := range s.sites {
		if at.out > 0 && !s.gives(at, at.load) || at.in > 0 && at.Used+at.in-at.out > at.Slots {
			return false, false
		}
		if at.in > 0 && at.Used+at.in > at.Slots || limit > 0 && (at.in > limit || at.out > limit) {
			now = false
		}
	}
	return true, now
}
