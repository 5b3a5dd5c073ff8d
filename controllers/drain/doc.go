// Package drain makes the transfers by which streams leave nodes: those that are drained, and those that are gone. It
// moves nothing itself: it makes StreamTransfers, in turns and within limits, and tells on the StreamNode how far they
// are. Who leaves is derived from the nodes each time; the plan is internal/placement's.
package drain
