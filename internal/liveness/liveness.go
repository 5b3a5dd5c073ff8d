// Package liveness judges whether a node is alive by its lease. It is pure: who calls it says how long ago the lease
// was last seen to change, by the caller's own monotonic clock. The times inside a lease are another machine's, and
// are never compared with a clock of ours.
package liveness

import "time"

// Health of a node.
type Health int

const (
	// Healthy: the lease was renewed lately.
	Healthy Health = iota + 1
	// Suspect: a renewal is late, but the lease has not run out.
	Suspect
	// Expired: the lease has run out.
	Expired
)

// Limits say when a lease is late and when it has run out.
type Limits struct {
	// SuspectAfter is the age of the last change from which on a node is Suspect.
	SuspectAfter time.Duration
	// ExpiredAfter is the age of the last change from which on a node is Expired: the duration of the lease.
	ExpiredAfter time.Duration
}

// Verdict is a health, and how long it holds without a renewal. For Expired, Until is zero: it holds until a renewal.
type Verdict struct {
	Health Health
	Until  time.Duration
}

// Judge returns the health of a node whose lease was last seen to change that long ago.
func Judge(sinceChange time.Duration, limits Limits) Verdict {
	switch {
	case sinceChange >= limits.ExpiredAfter:
		return Verdict{Health: Expired}
	case sinceChange >= limits.SuspectAfter:
		return Verdict{Health: Suspect, Until: limits.ExpiredAfter - sinceChange}
	}
	return Verdict{Health: Healthy, Until: limits.SuspectAfter - sinceChange}
}
