package rebalance

import (
	"slices"
	"sort"
)

const (
	// exchangeSources bounds the sites, those with the most load first, for which exchanges are looked for.
	exchangeSources = 8
	// exchangePart of the goal is what an exchange must bring: it costs two moves.
	exchangePart = 0.1
)

// exchange is two moves at once: a stream for a lighter one. It is made where no single move helps.
type exchange struct {
	there, back candidate
	gain        float64
}

// bestExchange returns the exchange that lessens the sum of squares most, among those of the first site that has any; and
// whether the limits kept it from one.
func (p *planner) bestExchange(order []*site) (best *exchange, limited bool) {
	for _, from := range order[:min(len(order), exchangeSources)] {
		for _, to := range slices.Backward(order) {
			if !p.pair(from, to) || from.Role != GivesAndTakes {
				continue
			}
			found := p.exchangeOfPair(from, to)
			switch {
			case found == nil:
			case p.exchangeAtLimit(from, to):
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

// exchangeAtLimit is atLimit for both directions at once.
func (p *planner) exchangeAtLimit(from, to *site) bool {
	return len(p.moves)+2 > p.settings.MaxMoves || p.atLimit(from, to) || p.atLimit(to, from)
}

// exchangeOfPair returns the best exchange between two sites: the one whose difference is nearest to what would make the two
// equal.
func (p *planner) exchangeOfPair(from, to *site) *exchange {
	equal, least := p.equal(from, to), p.settings.goal()*exchangePart
	var best *exchange
	for _, there := range from.classes {
		for _, back := range to.classes {
			if !to.fits(there.selector) || !from.fits(back.selector) {
				continue
			}
			for i := range there.streams {
				for _, j := range nearest(back.streams, there.streams[i].weight-equal) {
					gain := p.gain(from, to, there.streams[i].weight-back.streams[j].weight, least)
					if gain > rounding && (best == nil || gain > best.gain+rounding) {
						best = &exchange{
							there: candidate{from: from, to: to, class: there, at: i},
							back:  candidate{from: to, to: from, class: back, at: j}, gain: gain,
						}
					}
				}
			}
		}
	}
	return best
}

// nearest returns the indexes of the streams whose weights are next to the one wanted: at most two.
func nearest(streams []item, wanted float64) []int {
	above := sort.Search(len(streams), func(i int) bool { return streams[i].weight >= wanted })
	switch {
	case len(streams) == 0:
		return nil
	case above == 0:
		return []int{above}
	case above == len(streams):
		return []int{above - 1}
	}
	return []int{above, above - 1}
}
