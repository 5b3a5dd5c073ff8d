// Package routing decides who serves a request for a stream, and carries the decision out on a node.
//
// Decide is the pure rule (the table "Requests" of docs/handoff): serve, park, redirect, or answer that the stream is
// moving. Node is the HTTP front of a node that follows it: it maps a URL to a stream, looks at the node's own view of
// the stream through a Directory, and hands the request to the protocol, parks it, or sends it elsewhere. Table is the
// view of a gateway: which node to ask for which stream.
//
// The package must not know Kubernetes, must not open or close a session, and must not let a request change who owns a
// stream: a hint that comes with a request makes a node look again, never act. Nothing is released by a tick: a parked
// request waits for a change of what its decision was made from.
package routing
