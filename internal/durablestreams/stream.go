package durablestreams

import (
	"context"

	"github.com/streamshift/streamshift/internal/engine"
)

// Log is what the protocol needs of an open stream; *engine.Session is one. Its methods may be called at the same time.
type Log interface {
	// Append adds to the stream. An error that is engine.ErrSessionClosed promises that nothing was applied.
	Append(ctx context.Context, a engine.Append) (engine.Appended, error)
	// Read returns messages from a position on: as many as fit into maxBytes, but at least one where there is one.
	Read(ctx context.Context, from engine.Offset, maxBytes int) (engine.Batch, error)
	// Wait returns nil once the tail is behind from, or the stream is closed.
	Wait(ctx context.Context, from engine.Offset) error
	// Info describes the stream as it is now.
	Info() engine.Info
	// Touch notes an access, from which the TTL slides.
	Touch()
}

// Stream is an open stream: its session on this node, and what its creator set.
type Stream struct {
	// ID is the stream's identity for ever: a stream that is deleted and created again under its name has another one.
	// It becomes part of ETags.
	ID       string
	Settings Settings
	Log      Log
}
