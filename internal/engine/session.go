package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamshift/streamshift/internal/engine/store"
)

// Session is one opening of a stream. It costs no goroutine and no store call while nobody appends.
type Session struct {
	store   store.Store
	cfg     Config
	anchors SegmentNumber
	opened  Opened
	// work ends when the session does; calls of the store that serve the session as a whole run under it.
	work     context.Context
	stopWork context.CancelFunc
	done     chan struct{}
	// prefetching tells that a goroutine reads ahead of a reader.
	prefetching atomic.Bool

	mu     sync.Mutex
	state  state  // what is durable
	spans  []span // the durable segments that no checkpoint covers
	ahead  ahead  // what is not durable yet
	merger merger
	queue  []*waiting
	// waitingCount and waitingBytes are what queue and the batch on its way hold.
	waitingCount, waitingBytes int
	flying                     *batch // on its way to the store
	writing                    bool   // a goroutine turns the queue into segments
	lastBatch                  int    // appends of the batch before
	lingering                  chan struct{}
	changed                    chan struct{} // closed at the next change; made by the first who waits
	lastAccess                 int64         // Unix milliseconds
	last                       segmentKind   // the segment that shall end the session; 0: none
	stoppedAt, flushedAt       time.Time
	closing                    Closing
	retaining                  retaining
	err                        error // why the session ended; nil while it lives
}

// Opened describes where in its log a session was opened.
type Opened struct {
	// Segment is the number of the session's opening segment, which fences every session before it.
	Segment SegmentNumber
	// Offset is the tail of the stream behind it: everything that was acknowledged before lies below.
	Offset Offset
}

// Closing describes how a session was closed.
type Closing struct {
	// Tail is the number of the closing segment: the hint for the next session.
	Tail SegmentNumber
	// Offset is the tail of the stream.
	Offset Offset
	// StoppedAt is when the session began to refuse appends, FlushedAt when those that it had taken were in the store, ClosedAt when
	// its closing segment was.
	StoppedAt, FlushedAt, ClosedAt time.Time
}

// waiting is a request that is answered once everything before it is durable.
type waiting struct {
	entry  *entry // nil where it only waits for its turn
	size   int    // payload
	answer Appended
	err    error
	done   chan struct{}
}

// Open opens a stream for appending at an epoch. It returns a *FencedError where the log belongs to another session, ErrStreamDeleted, a
// *TruncatedError, or an error of the store; then it may be called again with the same Config.
func Open(ctx context.Context, s store.Store, cfg Config) (*Session, error) {
	return open(ctx, s, cfg, anchorEvery)
}

func open(ctx context.Context, st store.Store, cfg Config, anchors SegmentNumber) (*Session, error) {
	if err := cfg.prepare(); err != nil {
		return nil, fmt.Errorf("opening the session: %w", err)
	}
	o := newOpening(opener{
		stream: cfg.Stream, session: cfg.Session, epoch: cfg.Epoch, born: cfg.Created,
		now: cfg.Clock().UnixMilli(), producers: cfg.Limits.Producers, anchors: anchors, resumes: cfg.Resumes,
		known: cfg.Known,
	}, cfg.Tail)
	if err := runOpening(ctx, st, &cfg.Limits, o); err != nil {
		return nil, fmt.Errorf("opening the session: %w", err)
	}
	work, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &Session{
		store: st, cfg: cfg, anchors: anchors, work: work, stopWork: stop, done: make(chan struct{}),
		state: o.state, spans: o.spans, lastAccess: o.state.lastAccess, opened: Opened{o.mine, o.state.tail},
	}
	if s.lastAccess == 0 {
		s.lastAccess = o.now
	}
	s.ahead.begin(&s.state)
	s.merger.ref = s.state.checkpoint
	for _, sp := range s.spans {
		s.merger.bytes += sp.size
	}
	cfg.Log.Info("Opened session", "stream", cfg.Stream, "epoch", cfg.Epoch, "segment", s.state.number, "tail", s.state.tail)
	return s, nil
}

// Append adds to the stream. It returns once the append is in the object store, or with an error: ErrOutcomeUnknown
// where it may still come to be there, every other one where it was not applied and never will be.
func (s *Session) Append(ctx context.Context, a Append) (Appended, error) {
	if err := s.checkAppend(&a); err != nil {
		return Appended{}, err
	}
	if err := ctx.Err(); err != nil {
		return Appended{}, err
	}
	w, err := s.enqueue(&a)
	if err != nil {
		return Appended{}, err
	}
	return s.await(ctx, w)
}

// ErrAppendTooLarge refuses an append that exceeds a limit, or holds what no append may hold.
var ErrAppendTooLarge = errors.New("append exceeds a limit")

// ErrAppendInvalid refuses an append that is no append.
var ErrAppendInvalid = errors.New("append is not valid")

func (s *Session) checkAppend(a *Append) error {
	limits := &s.cfg.Limits
	if len(a.Messages) > limits.AppendMessages {
		return fmt.Errorf("%w: it has %d messages, allowed are %d", ErrAppendTooLarge, len(a.Messages), limits.AppendMessages)
	}
	if n := payload(a.Messages); n > limits.AppendBytes {
		return fmt.Errorf("%w: it has %d bytes, allowed are %d", ErrAppendTooLarge, n, limits.AppendBytes)
	}
	if len(a.Seq) > maxName {
		return fmt.Errorf("%w: its sequence has %d bytes, allowed are %d", ErrAppendTooLarge, len(a.Seq), maxName)
	}
	if len(a.Messages) == 0 && !a.CloseStream && !a.Create {
		return fmt.Errorf("%w: it has no message", ErrAppendInvalid)
	}
	for i, m := range a.Messages {
		if len(m) == 0 {
			return fmt.Errorf("%w: message %d is empty", ErrAppendInvalid, i)
		}
	}
	p := a.Producer
	if p == nil {
		return nil
	}
	if len(p.ID) > maxName {
		return fmt.Errorf("%w: its producer's name has %d bytes, allowed are %d", ErrAppendTooLarge, len(p.ID), maxName)
	}
	if p.ID == "" || p.Epoch < 0 || p.Seq < 0 {
		return fmt.Errorf("%w: its producer has no name, or a negative epoch or sequence", ErrAppendInvalid)
	}
	return nil
}

// enqueue judges an append and puts it, or the answer to it, behind everything that it was judged by.
func (s *Session) enqueue(a *Append) (*waiting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refusal(); err != nil {
		return nil, err
	}
	ruled, refusal := judge(s.ahead.view(&s.state), a)
	w := &waiting{err: refusal, done: make(chan struct{})}
	switch ruled {
	case rulingRefuse:
	case rulingDuplicate:
		w.answer.Duplicate = true
	case rulingAccept:
		w.size = payload(a.Messages)
		if err := s.room(w.size); err != nil {
			return nil, err
		}
		if len(s.spans) >= s.cfg.Limits.TailSegments {
			return nil, fmt.Errorf("%w: %d segments are not merged yet", ErrOverloaded, len(s.spans))
		}
		w.entry = &entry{kind: entryAppend, append: *a}
		s.ahead.add(a)
	}
	if a.Producer != nil && ruled != rulingRefuse {
		last, _ := s.ahead.view(&s.state).producer(a.Producer.ID)
		w.answer.LastSeq = last.Seq
	}
	w.answer.Next, w.answer.StreamClosed = s.ahead.tail, s.ahead.life == lifeClosed
	if w.entry == nil && s.waitingCount == 0 {
		close(w.done) // it was judged by what is durable
		return w, nil
	}
	if w.entry == nil {
		if err := s.room(0); err != nil {
			return nil, err
		}
	}
	s.add(w)
	return w, nil
}

// refusal says why no append is taken any more.
func (s *Session) refusal() error {
	switch {
	case errors.Is(s.err, ErrStreamDeleted):
		return ErrStreamDeleted
	case s.err != nil, s.last != 0:
		return ErrSessionClosed
	}
	return nil
}

// room checks the limits on what waits.
func (s *Session) room(size int) error {
	limits := &s.cfg.Limits
	switch {
	case s.waitingCount >= limits.WaitingAppends:
		return fmt.Errorf("%w: %d of them", ErrOverloaded, s.waitingCount)
	case s.waitingCount > 0 && s.waitingBytes+size > limits.WaitingBytes:
		return fmt.Errorf("%w: %d bytes of them", ErrOverloaded, s.waitingBytes)
	}
	return nil
}

// add queues a request and sees to it that a goroutine writes.
func (s *Session) add(w *waiting) {
	s.queue = append(s.queue, w)
	s.waitingCount++
	s.waitingBytes += w.size
	if s.lingering != nil && len(s.queue) >= s.lastBatch {
		close(s.lingering)
		s.lingering = nil
	}
	s.wake()
}

// wake starts the writing goroutine where there is none.
func (s *Session) wake() {
	if !s.writing {
		s.writing = true
		go s.write()
	}
}

// await waits for the answer. It waits no longer than a limit: somebody is to be told something.
func (s *Session) await(ctx context.Context, w *waiting) (Appended, error) {
	select {
	case <-w.done: // without a timer where the answer is there
		return w.result()
	default:
	}
	patience := time.NewTimer(s.cfg.Limits.AnswerWithin)
	defer patience.Stop()
	select {
	case <-w.done:
		return w.result()
	case <-patience.C:
		return Appended{}, fmt.Errorf("%w: the store did not settle it within %v", ErrOutcomeUnknown, s.cfg.Limits.AnswerWithin)
	case <-ctx.Done():
		return Appended{}, fmt.Errorf("%w: %w", ErrOutcomeUnknown, context.Cause(ctx))
	}
}

func (w *waiting) result() (Appended, error) {
	if w.err != nil {
		return Appended{}, w.err
	}
	return w.answer, nil
}

// Info describes the stream as far as it is durable.
func (s *Session) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Info{
		Created: s.state.life != lifeUnborn, Start: s.state.start, Tail: s.state.tail,
		StreamClosed: s.state.life == lifeClosed, LastAccess: time.UnixMilli(s.lastAccess),
	}
}

// Opened tells where in its log the session was opened.
func (s *Session) Opened() Opened { return s.opened }

// Touch notes an access, from which time-to-live slides. It is written with the next segment.
func (s *Session) Touch() {
	now := s.cfg.Clock().UnixMilli()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastAccess = max(s.lastAccess, now)
}

// Done is closed when the session ends.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err says why the session ended: a *FencedError, ErrSessionClosed or ErrStreamDeleted; nil while it lives.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
