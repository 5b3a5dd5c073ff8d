// Package session is the node agent's reconciler: it has a stream's register on one side and the engine on the other,
// and takes the step that internal/handoff decides. It also answers the node's front (internal/routing) about the
// streams that the node has to do with.
//
// The node watches only its own streams: those that it owns, and those that a pending transfer brings. A stream that
// leaves a watch is no longer the node's; whether it is gone is asked of the API server.
package session
