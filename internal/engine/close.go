package engine

import (
	"context"
	"errors"
	"fmt"
)

// Close ends the session in order: it refuses appends from now on, brings those that were taken into the store, and
// writes the closing segment. An error means that this is not done yet and goes on; a repeated call waits on and
// returns the same. A session that ended otherwise returns the reason.
func (s *Session) Close(ctx context.Context) (Closing, error) {
	if err := s.finishWith(ctx, segmentClosing); err != nil {
		return Closing{}, fmt.Errorf("closing the session: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closing, nil
}

// Delete ends the stream: it brings the appends that were taken into the store and writes the record of the deletion.
// Afterwards every session of the stream answers ErrStreamDeleted. Remove carries the deletion out.
func (s *Session) Delete(ctx context.Context) error {
	if err := s.finishWith(ctx, segmentDeletion); err != nil {
		return fmt.Errorf("deleting the stream: %w", err)
	}
	return nil
}

// finishWith has the writer write a last segment, and waits until it is there.
func (s *Session) finishWith(ctx context.Context, kind segmentKind) error {
	s.mu.Lock()
	if s.err == nil && s.last == 0 {
		s.last = kind
		s.stoppedAt = s.cfg.Clock()
		s.broadcast()
		s.wake()
	}
	s.mu.Unlock()
	select {
	case <-s.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := segmentOpening
	switch {
	case s.closing.Tail != 0:
		ended = segmentClosing
	case errors.Is(s.err, ErrStreamDeleted):
		ended = segmentDeletion
	}
	if ended != kind {
		return s.err
	}
	return nil
}

// Abandon ends the session without writing: the process ends, or the stream is known to belong to somebody else.
// Appends on their way are answered with ErrOutcomeUnknown, those that wait behind them with ErrSessionClosed.
func (s *Session) Abandon() {
	s.end(ErrSessionClosed, ErrOutcomeUnknown)
}

// CheckFence looks whether the next number of the log is taken, and ends the session with a *FencedError, which it
// returns, where it is. While a segment is on its way it looks at nothing: that segment will tell.
func (s *Session) CheckFence(ctx context.Context) error {
	s.mu.Lock()
	if s.err != nil || s.writing {
		defer s.mu.Unlock()
		return s.err
	}
	number := s.state.number + 1
	s.mu.Unlock()

	out, err := perform(ctx, s.store, &s.cfg.Limits, call{kind: callPeek, key: segmentKey(s.cfg.Stream, number)})
	if err != nil {
		return fmt.Errorf("looking for a fence: %w", err)
	}
	if out.answer == answerAbsent {
		return nil
	}
	found, _, err := decodeHead(out.data)
	if err != nil {
		return fmt.Errorf("looking for a fence: reading segment %d: %w", number, err)
	}
	if found.session == s.cfg.Session && found.epoch == s.cfg.Epoch {
		return nil // written meanwhile, by this session
	}
	s.end(&FencedError{Epoch: found.epoch}, ErrOutcomeUnknown)
	return s.Err()
}

// Trim gives up everything before a position: reads there fail with ErrTrimmed from the moment Trim returns, and the
// objects are deleted later. A position before the first retained one changes nothing; one beyond the tail is refused.
func (s *Session) Trim(ctx context.Context, start Offset) error {
	w, err := s.enqueueTrim(start)
	if err == nil {
		_, err = s.await(ctx, w)
	}
	if err != nil {
		return fmt.Errorf("trimming to offset %d: %w", start, err)
	}
	return nil
}

func (s *Session) enqueueTrim(start Offset) (*waiting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refusal(); err != nil {
		return nil, err
	}
	w := &waiting{done: make(chan struct{})}
	switch {
	case start > s.state.tail: // what is not durable yet cannot be trimmed
		return nil, ErrBeyondTail
	case start <= s.state.start:
		close(w.done)
		return w, nil
	}
	if err := s.room(0); err != nil {
		return nil, err
	}
	w.entry = &entry{kind: entryTrim, start: start}
	s.add(w)
	return w, nil
}
