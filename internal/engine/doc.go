// Package engine keeps a stream in an object store and lets one session at a time append to it.
//
// A stream is a log of numbered segments, each one object that is created only if absent. A session is one opening of
// the stream at an epoch: Open reads the log to its end and writes the opening segment of its epoch at the next number.
// An older session that is still running collides there with its next write and ends. So the object store is the
// arbiter, and nothing is acknowledged that is not in it.
//
// The parts, each a machine without clock, locks or network, and so walked over every interleaving by the tests:
//
//   - opening (opening.go) finds the end of the log and writes the opening segment;
//   - proposal (proposal.go) brings one segment into the log, or finds that another session's is there;
//   - merging (merging.go) puts segments together into chunks and writes a checkpoint;
//   - state (state.go) is what the log says, folded segment by segment.
//
// Session runs them: Append queues, one writer at a time turns the queue into segments, Read serves from memory, from
// segments and from chunks. The bytes are described in format.md.
//
// The package must not know of Kubernetes, HTTP, or who should own a stream, and must not overwrite an object.
package engine
