package engine

import (
	"context"
	"fmt"
)

// Read returns messages from a position on: as many as fit into maxBytes of payload, but at least one where the stream
// has any there. It never waits for appends. It fails with ErrBeyondTail or ErrTrimmed for a position that the stream
// does not have.
func (s *Session) Read(ctx context.Context, from Offset, maxBytes int) (Batch, error) {
	b, err := s.begin(from)
	if err != nil {
		return Batch{}, err
	}
	taken := 0
	for b.Next < b.Tail && (taken < maxBytes || len(b.Messages) == 0) {
		block, err := s.load(ctx, b.Next, maxBytes-taken)
		if err != nil {
			return Batch{}, fmt.Errorf("reading at offset %d: %w", b.Next, err)
		}
		before := b.Next
		b.Messages, b.Next = block.from(b.Next, b.Messages, maxBytes-taken)
		if b.Next == before {
			break // the next message does not fit
		}
		taken += int(b.Next - before)
	}
	s.prefetch(b.Next, b.Tail)
	return b, nil
}

// begin takes the bounds of a read.
func (s *Session) begin(from Offset) (Batch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.err != nil:
		return Batch{}, s.refusal()
	case from > s.state.tail:
		return Batch{}, ErrBeyondTail
	case from < s.state.start:
		return Batch{}, ErrTrimmed
	}
	return Batch{From: from, Next: from, Tail: s.state.tail, StreamClosed: s.state.life == lifeClosed}, nil
}

// Wait returns nil once the stream has something behind a position or is closed for appends, and ErrSessionClosed (or
// ErrStreamDeleted) as soon as the session stops taking appends: then the stream goes on elsewhere.
func (s *Session) Wait(ctx context.Context, from Offset) error {
	for {
		s.mu.Lock()
		stopped := s.refusal()
		there := s.err == nil && (s.state.tail > from || s.state.life == lifeClosed)
		if there || stopped != nil {
			s.mu.Unlock()
			if there {
				return nil
			}
			return stopped
		}
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
