package rebalance

import (
	"cmp"
	"math"
	"slices"
	"sort"
)

// climb makes the best move, one after the other, until the sites are even or no move helps: for many streams. The site
// with the most load gives first. Each move brings the further one of its two sites nearer to its fair share, so that no
// move makes anything worse than it was.
func (p *planner) climb() End {
	for p.imbalance() > p.settings.goal() {
		best, limited := p.bestMove()
		switch {
		case best == nil && limited:
			return AtLimit
		case best == nil:
			return NoBetterMove
		}
		p.apply(best.from, best.to, best.class.streams[best.at])
		best.class.streams = slices.Delete(best.class.streams, best.at, best.at+1)
	}
	return Even
}

type candidate struct {
	from, to *site
	class    *class
	at       int
	gain     float64
}

// bestMove returns the move that lessens the sum of squares most, among those from the first site that has any; and whether
// the limits kept it from one.
func (p *planner) bestMove() (best *candidate, limited bool) {
	order := slices.SortedStableFunc(slices.Values(p.sites), func(a, b *site) int {
		return cmp.Or(cmp.Compare(p.distance(b, b.load), p.distance(a, a.load)), cmp.Compare(a.Name, b.Name))
	})
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
	equal := (from.load/from.capacity - to.load/to.capacity) / (1/from.capacity + 1/to.capacity)
	var best *candidate
	for _, c := range from.classes {
		if to.full() || !to.fits(c.selector) {
			continue
		}
		above := sort.Search(len(c.streams), func(i int) bool { return c.streams[i].weight >= equal })
		for _, at := range []int{above, above - 1} {
			if at < 0 || at >= len(c.streams) {
				continue
			}
			gain := p.gain(from, to, c.streams[at].weight)
			if gain > rounding && (best == nil || gain > best.gain+rounding) {
				best = &candidate{from: from, to: to, class: c, at: at, gain: gain}
			}
		}
	}
	return best
}

// gain is by how much a move lessens the sum of squared loads per slot; 0 where it is not allowed, or the further one of the
// two sites would not come nearer to its fair share.
func (p *planner) gain(from, to *site, weight float64) float64 {
	farthest := func(fromLoad, toLoad float64) float64 {
		return max(math.Abs(p.distance(from, fromLoad)), math.Abs(p.distance(to, toLoad)))
	}
	if !p.gives(from, from.load-weight) || farthest(from.load-weight, to.load+weight) >= farthest(from.load, to.load)-rounding {
		return 0
	}
	return weight * ((2*from.load-weight)/from.capacity - (2*to.load+weight)/to.capacity)
}
