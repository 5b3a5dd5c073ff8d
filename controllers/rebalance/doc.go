// Package rebalance carries out StreamRebalances: it has a plan made of the cluster as it is, keeps it, waits for its approval,
// and makes its transfers, a few at a time. What was approved is what runs: a plan is kept as a whole in a ControllerRevision
// that never changes, and a move whose stream has gone on since is skipped and named.
//
// Everything is looked up again in each pass, so that a manager that takes over in the middle goes on where the other one was:
// names of transfers follow from stream and epoch, and moves are settled in their order.
//
// It must not transfer anything by itself, or decide which move is good: internal/rebalance does.
package rebalance
