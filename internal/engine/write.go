package engine

import (
	"errors"
	"fmt"
	"time"
)

// batch is what becomes one segment.
type batch struct {
	kind    segmentKind
	number  SegmentNumber
	data    []byte
	waiting []*waiting
	appends int
	begun   time.Time
}

// write turns the queue into segments, one at a time, until nothing is left to write.
func (s *Session) write() {
	for {
		s.linger()
		b := s.cut()
		if b == nil {
			return
		}
		p := newProposal(s.cfg.Stream, b.number, b.data, s.anchors)
		err := s.settle(p)
		if err == nil {
			err = s.commit(b)
		}
		if err != nil {
			s.end(err, answerOfFlying(p))
			return
		}
	}
}

// answerOfFlying is what the appends of a batch are told that ended the session.
func answerOfFlying(p *proposal) error {
	if p.verdict == verdictRefused {
		return ErrSessionClosed
	}
	return ErrOutcomeUnknown
}

// linger waits a moment for the writers of the last batch, who were all answered at once and may append again. One
// writer alone is never waited for.
func (s *Session) linger() {
	s.mu.Lock()
	if s.lastBatch <= 1 || len(s.queue) == 0 || len(s.queue) >= s.lastBatch || s.last != 0 || s.err != nil {
		s.mu.Unlock()
		return
	}
	enough := make(chan struct{})
	s.lingering = enough
	s.mu.Unlock()

	patience := time.NewTimer(s.cfg.Limits.Linger)
	defer patience.Stop()
	select {
	case <-enough:
	case <-patience.C:
	case <-s.done:
	}
	s.mu.Lock()
	s.lingering = nil
	s.mu.Unlock()
}

// cut takes the next batch from the queue. It returns nil where there is nothing to write; then the goroutine that
// called must end.
func (s *Session) cut() *batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		s.writing = false
		return nil
	}
	waiting, entries, size := s.takeQueue()
	if len(entries) == 0 {
		s.answer(waiting) // they waited for their turn only
	}
	switch {
	case len(entries) > 0:
		s.flying = s.encode(segmentEntries, encodeEntries(entries, size))
		s.flying.waiting, s.flying.appends = waiting, len(entries)
		s.lastBatch = len(entries)
	case s.last == segmentClosing:
		s.flushedAt = s.cfg.Clock()
		s.flying = s.encode(segmentClosing, encodeClosingBody(&s.state, s.spans))
	case s.last == segmentDeletion:
		s.flying = s.encode(segmentDeletion, nil)
	default:
		s.writing = false
	}
	return s.flying
}

// entryOverhead is about what an entry costs in a segment beyond its payload: kind, flags, producer, lengths.
const entryOverhead = 64

// takeQueue takes from the queue what fits into one segment, but at least one append. size is about its bytes.
func (s *Session) takeQueue() (taken []*waiting, entries []entry, size int) {
	limits := &s.cfg.Limits
	n := 0
	for _, w := range s.queue {
		if w.entry != nil {
			if len(entries) == limits.BatchAppends || len(entries) > 0 && size+w.size > limits.BatchBytes {
				break
			}
			entries = append(entries, *w.entry)
			size += w.size + entryOverhead + 4*len(w.entry.append.Messages)
		}
		n++
	}
	taken = s.queue[:n:n]
	s.queue = s.queue[n:]
	if len(s.queue) == 0 {
		s.queue = nil
	}
	return taken, entries, size
}

func (s *Session) encode(kind segmentKind, body []byte) *batch {
	now := s.cfg.Clock()
	if kind == segmentEntries {
		s.lastAccess = max(s.lastAccess, now.UnixMilli())
	}
	h := head{
		kind: kind, stream: s.cfg.Stream, session: s.cfg.Session, epoch: s.cfg.Epoch,
		number: s.state.number + 1, previous: s.state.self, first: s.state.tail,
		written: now.UnixMilli(), lastAccess: s.lastAccess, checkpoint: s.merger.ref,
	}
	data, _ := h.encode(body)
	return &batch{kind: kind, number: h.number, data: data, begun: now}
}

// settle drives a proposal until it is settled, however long that takes, or the session ends.
func (s *Session) settle(p *proposal) error {
	pause := s.cfg.Limits.RetryAfter
	for {
		c, more := p.next()
		if !more {
			break
		}
		out, err := perform(s.work, s.store, &s.cfg.Limits, c)
		if err == nil {
			if err := p.take(out); err != nil {
				return err
			}
			continue
		}
		if s.work.Err() != nil {
			return ErrSessionClosed
		}
		s.failed(c, err)
		if !s.sleep(pause) {
			return ErrSessionClosed
		}
		pause = min(2*pause, s.cfg.Limits.RetryAtMost)
	}
	if p.verdict != verdictWritten {
		return &FencedError{Epoch: p.fencer}
	}
	return nil
}

func (s *Session) failed(c call, err error) {
	s.cfg.Log.V(1).Info("Store call failed", "stream", s.cfg.Stream, "epoch", s.cfg.Epoch, "key", c.key, "error", err.Error())
	if s.cfg.Metrics.StoreFailed != nil {
		s.cfg.Metrics.StoreFailed(c.kind.String())
	}
}

// sleep pauses, and tells whether the session still lives.
func (s *Session) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.done:
		return false
	}
}

// commit makes a segment that is in the store part of the state and answers its appends.
func (s *Session) commit(b *batch) error {
	seg, err := decodeSegment(b.data)
	if err != nil {
		return fmt.Errorf("committing segment %d: %w", b.number, err)
	}
	now := s.cfg.Clock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	entries, err := s.state.fold(&seg, s.cfg.Limits.Producers)
	if err != nil {
		return fmt.Errorf("committing segment %d: %w", b.number, err)
	}
	for i := range entries {
		s.ahead.remove(&entries[i].append)
	}
	s.spans = append(s.spans, span{number: seg.number, kind: seg.kind, first: seg.first, end: s.state.tail, size: len(b.data)})
	s.merger.bytes += len(b.data)
	if s.state.tail > seg.first {
		s.cfg.Cache.put(blockKey{object: segmentKey(s.cfg.Stream, seg.number)}, newBlock(seg.first, messagesOf(entries)))
	}
	if s.cfg.Metrics.SegmentWritten != nil && b.kind == segmentEntries {
		s.cfg.Metrics.SegmentWritten(b.appends, len(b.data), now.Sub(b.begun))
	}
	s.flying = nil
	s.answer(b.waiting)
	s.broadcast()
	switch b.kind {
	case segmentOpening, segmentEntries:
		s.background(&seg)
	case segmentClosing:
		s.closing = Closing{Tail: seg.number, Offset: s.state.tail, StoppedAt: s.stoppedAt, FlushedAt: s.flushedAt, ClosedAt: now}
		s.finish(ErrSessionClosed, ErrSessionClosed)
	case segmentDeletion:
		s.finish(ErrStreamDeleted, ErrStreamDeleted)
	}
	return nil
}

func messagesOf(entries []entry) [][]byte {
	n := 0
	for i := range entries {
		n += len(entries[i].append.Messages)
	}
	messages := make([][]byte, 0, n)
	for i := range entries {
		messages = append(messages, entries[i].append.Messages...)
	}
	return messages
}

// answer releases requests whose turn has come.
func (s *Session) answer(waiting []*waiting) {
	for _, w := range waiting {
		s.waitingCount--
		s.waitingBytes -= w.size
		close(w.done)
	}
}

// broadcast wakes who waits for a change.
func (s *Session) broadcast() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

// end ends the session for a reason; flying is what the appends on their way are told.
func (s *Session) end(reason, flying error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finish(reason, flying)
}

// finish is end for who holds the lock. Requests that wait behind those on their way were not applied.
func (s *Session) finish(reason, flying error) {
	if s.err != nil {
		return
	}
	s.err = reason
	queued := ErrSessionClosed
	if errors.Is(reason, ErrStreamDeleted) {
		queued = ErrStreamDeleted
	}
	if s.flying != nil {
		s.fail(s.flying.waiting, flying)
		s.flying = nil
	}
	s.fail(s.queue, queued)
	s.queue = nil
	s.stopWork()
	close(s.done)
	s.broadcast()
	s.cfg.Log.Info("Ended session", "stream", s.cfg.Stream, "epoch", s.cfg.Epoch, "reason", reason.Error())
}

func (s *Session) fail(waiting []*waiting, err error) {
	for _, w := range waiting {
		w.err = err
	}
	s.answer(waiting)
}
