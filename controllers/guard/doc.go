// Package guard has kubectl drain wait for streams. Where a node owns a stream, or is to get one, a guard pod stands on it.
// kubectl drain skips the pods of a DaemonSet, as the agents are, but evicts this one, and waits until it is really gone:
// that is held back for as long as the node holds a stream, by a PodDisruptionBudget (Strict) or by the pod itself (Graceful).
//
// The manager lifts the budget, never the node: an agent that is dead must not block its node. The package moves no stream,
// and nothing that is promised of a handoff depends on it.
package guard
