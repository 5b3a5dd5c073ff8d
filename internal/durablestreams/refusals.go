package durablestreams

import "sync/atomic"

// Limit is one that requests were refused at.
type Limit int

// The limits that a handler counts.
const (
	// LimitBody: the body was too large.
	LimitBody Limit = iota
	// LimitBodies: there was no room for the bodies of all requests.
	LimitBodies
	// LimitBodyTime: the body came too slowly.
	LimitBodyTime
	// LimitLiveReads: too many live reads were being served.
	LimitLiveReads
	// limits is how many there are.
	limits
)

// String returns the limit as metrics name it.
func (l Limit) String() string {
	return [...]string{"body", "bodies", "body_time", "live_reads"}[l]
}

// AllLimits are those that a handler counts.
func AllLimits() []Limit { return []Limit{LimitBody, LimitBodies, LimitBodyTime, LimitLiveReads} }

// counts are what a handler counts for metrics.
type counts struct {
	refused   [limits]atomic.Int64
	liveReads atomic.Int64
}

func (h *Handler) refused(l Limit) { h.counts.refused[l].Add(1) }

// Refused returns how many requests were refused at a limit so far.
func (h *Handler) Refused(l Limit) int64 { return h.counts.refused[l].Load() }

// LiveReads returns how many long-polls and event streams are being served.
func (h *Handler) LiveReads() int64 { return h.counts.liveReads.Load() }

// BodyBytes returns how many bytes of bodies are in memory.
func (h *Handler) BodyBytes() int64 { return h.bodies.Used() }
