// Package rebalance plans which streams to transfer so that the nodes carry even load, with few transfers. It is pure: the
// same input gives the same plan, and the plan of a plan's result is empty.
//
// A node's fair share is proportional to its slots: a node with twice the slots is meant to carry twice the load. A plan is
// made only where a node is further from its fair share than the threshold, and then goes on until every node is within half
// of it: load that moves to and fro around the threshold makes no plans.
//
// What it must not do: read the API server or the clock, or know how a transfer is made.
package rebalance
