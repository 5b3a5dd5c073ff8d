package rebalance

import (
	"cmp"
	"math"
	"slices"
)

// climb makes the best move, one after the other, until the sites are even or no move helps: for many streams. The site
// with the most load gives first. Where no single move helps, two streams are exchanged. Each step brings the further one of its
// two sites nearer to its fair share, so that none makes anything worse than it was.
func (p *planner) climb() End {
	for p.imbalance() > p.settings.goal() {
		order := p.order()
		best, limited := p.bestMove(order)
		if best != nil {
			p.take(best)
			continue
		}
		both, bothLimited := p.bestExchange(order)
		switch {
		case both == nil && (limited || bothLimited):
			return AtLimit
		case both == nil:
			return NoBetterMove
		}
		p.take(&both.there)
		p.take(&both.back)
	}
	return Even
}

// take makes a move. The stream is moved once: it does not become one of its new site's.
func (p *planner) take(c *candidate) {
	p.apply(c.from, c.to, c.class.streams[c.at])
	c.class.streams = slices.Delete(c.class.streams, c.at, c.at+1)
}

// order returns the sites, the one that is furthest above its fair share first.
func (p *planner) order() []*site {
	return slices.SortedStableFunc(slices.Values(p.sites), func(a, b *site) int {
		return cmp.Or(cmp.Compare(p.distance(b, b.load), p.distance(a, a.load)), cmp.Compare(a.Name, b.Name))
	})
}

type candidate struct {
	from, to *site
	class    *class
	at       int
	gain     float64
}

// bestMove returns the move that lessens the sum of squares most, among those from the first site that has any; and whether
// the limits kept it from one.
func (p *planner) bestMove(order []*site) (best *candidate, limited bool) {
	for _, from := range order {
		for _, to := range slices.Backward(order) {
			if !p.pair(from, to) {
				continue
			}
			found := p.bestOfPair(from, to)
			switch {
			case found == nil:
			case p.atLimit(from, to):
				limited = true
			case best == nil || found.gain > best.gain+rounding:
				best = found
			}
		}
		if best != nil {
			return best, limited
		}
	}
	return nil, limited
}

// pair tells whether load may go from one site to another: the one has more, and one of them is further from its fair share
// than the goal.
func (p *planner) pair(from, to *site) bool {
	high, low := p.distance(from, from.load), p.distance(to, to.load)
	return from.group == to.group && high > low && (high > p.settings.goal() || low < -p.settings.goal())
}

// bestOfPair returns the best stream to go from one site to another: the one whose weight is nearest to what would make the
// two equal.
func (p *planner) bestOfPair(from, to *site) *candidate {
	equal := p.equal(from, to)
	var best *candidate
	for _, c := range from.classes {
		if to.full() || !to.fits(c.selector) {
			continue
		}
		for _, at := range nearest(c.streams, equal) {
			gain := p.gain(from, to, c.streams[at].weight, rounding)
			if gain > rounding && (best == nil || gain > best.gain+rounding) {
				best = &candidate{from: from, to: to, class: c, at: at, gain: gain}
			}
		}
	}
	return best
}

// equal is the load that would have to go from one site to another to make them even.
func (p *planner) equal(from, to *site) float64 {
	return (from.load/from.capacity - to.load/to.capacity) / (1/from.capacity + 1/to.capacity)
}

// gain is by how much a transfer of this weight lessens the sum of squared loads per slot; 0 where it is not allowed, or does not
// bring the further one of the two sites nearer to its fair share by more than least.
func (p *planner) gain(from, to *site, weight, least float64) float64 {
	farthest := func(fromLoad, toLoad float64) float64 {
		return max(math.Abs(p.distance(from, fromLoad)), math.Abs(p.distance(to, toLoad)))
	}
	if !p.gives(from, from.load-weight) || farthest(from.load-weight, to.load+weight) >= farthest(from.load, to.load)-least {
		return 0
	}
	return weight * ((2*from.load-weight)/from.capacity - (2*to.load+weight)/to.capacity)
}
