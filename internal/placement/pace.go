package placement

import (
	"maps"
	"time"
)

// Pace bounds, for each node, the transfers to it that are under way at the same time, by how long requests for the streams on
// their way had to wait: a node that keeps them waiting gets half as many, one that does not gets more again, up to the limit.
// This is the slow start, additive increase and multiplicative decrease of a congestion window (RFC 5681). It is not safe for
// concurrent use.
type Pace struct {
	// First is what a node starts with where Slow is set, and Limit what it gets at most.
	First, Limit int
	// Slow is the longest wait that is not too long; 0: no wait is.
	Slow time.Duration

	shares map[string]*share
}

type share struct {
	// allowed transfers at the same time; at least 1, and at most Limit.
	allowed float64
	// searching tells that the share was never cut: it grows by one for each transfer that kept nobody waiting for long, so
	// that it doubles in the time of one.
	searching bool
	// cutAt is when the share was cut last. What was accepted before it tells of the pace before.
	cutAt time.Time
}

// Feel takes in that a transfer to the node, accepted then, kept requests waiting until it was open.
func (p *Pace) Feel(node string, accepted time.Time, waited time.Duration, now time.Time) {
	if p.Slow <= 0 {
		return
	}
	known := p.shares[node]
	if known == nil {
		if p.shares == nil {
			p.shares = map[string]*share{}
		}
		known = &share{allowed: float64(p.first()), searching: true}
		p.shares[node] = known
	}
	switch {
	case waited <= p.Slow && known.searching:
		known.allowed = min(float64(p.Limit), known.allowed+1)
	case waited <= p.Slow:
		known.allowed = min(float64(p.Limit), known.allowed+1/known.allowed)
	case accepted.After(known.cutAt):
		known.allowed, known.cutAt, known.searching = max(1, known.allowed/2), now, false
	}
}

func (p *Pace) first() int {
	if p.Slow <= 0 {
		return p.Limit
	}
	return min(p.First, p.Limit)
}

// Share returns how many transfers to the node may be under way at the same time.
func (p *Pace) Share(node string) int {
	if known := p.shares[node]; known != nil {
		return int(known.allowed)
	}
	return p.first()
}

// Keep drops what is known of nodes other than these.
func (p *Pace) Keep(nodes map[string]bool) {
	maps.DeleteFunc(p.shares, func(node string, _ *share) bool { return !nodes[node] })
}
