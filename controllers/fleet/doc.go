// Package fleet shows nodes, streams and rebalances as a whole, for metrics: who is ready, who owns how many, and what is wrong with the rest.
//
// It reads the manager's cache when it is asked, writes nothing, and has no metric per stream: there may be a hundred thousand.
package fleet
