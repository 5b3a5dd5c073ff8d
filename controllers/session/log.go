package session

import (
	"context"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/engine"
)

// Log is one open session of a stream; *engine.Session is one.
type Log interface {
	durablestreams.Log
	// Close refuses appends at once, flushes, and writes the closing segment. It may be repeated after an error.
	Close(ctx context.Context) (engine.Closing, error)
	// Delete writes the record that the stream is deleted; nothing is served afterwards.
	Delete(ctx context.Context) error
	// Opened tells where in its log the session was opened.
	Opened() engine.Opened
	// CheckFence looks whether the log belongs to another session by now; then this one ends.
	CheckFence(ctx context.Context) error
	// Retain trims what is outside the bounds.
	Retain(ctx context.Context, bounds engine.Retention) error
	// Abandon ends the session without writing.
	Abandon()
	// Done is closed when the session ended; Err tells why.
	Done() <-chan struct{}
	Err() error
}

// Opening names the session that is to be opened.
type Opening struct {
	// Stream is the UID of the Stream object.
	Stream string
	Epoch  int64
	// Session is the identity of this opening; a repeated attempt keeps it.
	Session string
	// Tail is the number of the segment that closed the session before, a hint; 0 where unknown.
	Tail int64
	// Known is the number of a segment that was written for certain; 0 where none is known. A log that ends before it is not opened.
	Known int64
	// Resumes goes on with this very session, which was closed at Tail.
	Resumes bool
	// Created tells that the stream exists for clients without a PUT of theirs.
	Created bool
}

// Engine opens sessions; the storage engine over the object store is one.
type Engine interface {
	// Open opens a session. The error is *engine.FencedError where the log belongs to another one,
	// engine.ErrStreamDeleted, or what kept the object store from answering: then it may be repeated.
	Open(ctx context.Context, opening Opening) (Log, error)
	// Remove removes the log of a deleted stream; it may be repeated.
	Remove(ctx context.Context, stream string) error
}
