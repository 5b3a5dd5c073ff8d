// Package durablestreams speaks the Durable Streams protocol over HTTP for streams whose session is open in this
// process: create, append, close, catch-up reads, long-poll, server-sent events and metadata.
//
// A [Handler] answers requests for one [Stream] at a time. It does not know which stream a URL names, on which node a
// stream lives, or how a stream is placed and deleted: whoever routes a request finds the session and hands it in, and
// gets [engine.ErrSessionClosed] back where the session ended before the request had any effect.
//
// What it must not do: import Kubernetes or routing, keep state between requests, or answer a request as refused whose
// outcome is unknown. Every problem type states whether the request had an effect (docs/protocol.md has the table).
package durablestreams
