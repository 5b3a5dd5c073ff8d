// Package handoff holds the rules by which the ownership of a stream is handed over, and is the only place that does.
//
// Decide is what a node does next about one stream, DecideTransfer what the manager does next about one transfer. Both
// are pure: they see the register and the participant's own state, and return an action and the reason for it. The
// steps on the register are JSON patches that test exactly what was decided from, so that a stale or repeated proposal
// changes nothing.
//
// Nothing here reads a clock, a cache or the network, and nothing remembers what was sent.
package handoff
