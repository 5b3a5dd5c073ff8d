// Package model walks every interleaving of a small world by the project's real rules: handoff.Decide for the nodes,
// handoff.DecideTransfer for the manager, the steps as JSON patches applied by the API server's own library, and the CEL
// rules of the CRD, evaluated by the API server's own library. Model and server cannot drift apart.
//
// The world is one stream, three nodes, and two transfers that contradict each other or go to and fro. Each participant sees the register
// late. Nodes crash and restart between any two steps, users cancel and delete, leases run out, answers get lost.
package model
