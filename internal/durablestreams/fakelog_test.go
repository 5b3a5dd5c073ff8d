package durablestreams

import (
	"context"
	"sync"
	"time"

	"github.com/streamshift/streamshift/internal/engine"
)

// faultyLog is a log in memory whose calls fail as a test says. The others do what a session does, as far
// as a test of failures needs it: no producers, no sequences.
type faultyLog struct {
	clock func() time.Time

	mu        sync.Mutex
	info      engine.Info
	messages  [][]byte
	changed   chan struct{}
	touches   int
	appendErr error
	readErr   error
	endErr    error // why the session ended; every call fails with it
}

func newFaultyLog(clock func() time.Time, messages ...string) *faultyLog {
	l := &faultyLog{clock: clock, changed: make(chan struct{}), messages: slicesOf(messages)}
	l.info.Created = true
	l.info.LastAccess = clock()
	for _, m := range messages {
		l.info.Tail += engine.Offset(len(m))
	}
	return l
}

// set changes the log under its lock and wakes those who wait.
func (l *faultyLog) set(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *faultyLog) Append(_ context.Context, a engine.Append) (engine.Appended, error) {
	var err error
	var done engine.Appended
	l.set(func() {
		if err = l.endErr; err == nil {
			err = l.appendErr
		}
		if err != nil {
			return
		}
		for _, m := range a.Messages {
			l.messages = append(l.messages, m)
			l.info.Tail += engine.Offset(len(m))
		}
		l.info.StreamClosed = l.info.StreamClosed || a.CloseStream
		l.info.Created = l.info.Created || a.Create
		done = engine.Appended{Next: l.info.Tail, StreamClosed: l.info.StreamClosed}
	})
	return done, err
}

func (l *faultyLog) Read(_ context.Context, from engine.Offset, _ int) (engine.Batch, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.endErr != nil:
		return engine.Batch{}, l.endErr
	case l.readErr != nil:
		return engine.Batch{}, l.readErr
	case !l.info.Created:
		return engine.Batch{}, engine.ErrNotCreated
	case from > l.info.Tail:
		return engine.Batch{}, engine.ErrBeyondTail
	}
	b := engine.Batch{From: from, Next: l.info.Tail, Tail: l.info.Tail, StreamClosed: l.info.StreamClosed}
	at := engine.Offset(0)
	for _, m := range l.messages {
		if end := at + engine.Offset(len(m)); end > from {
			b.Messages = append(b.Messages, m[max(from-at, 0):])
		}
		at += engine.Offset(len(m))
	}
	return b, nil
}

func (l *faultyLog) Wait(ctx context.Context, from engine.Offset) error {
	for {
		l.mu.Lock()
		err, ready, changed := l.endErr, l.info.Tail > from || l.info.StreamClosed, l.changed
		l.mu.Unlock()
		if err != nil || ready {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (l *faultyLog) Info() engine.Info {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.info
}

func (l *faultyLog) Touch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.touches++
	l.info.LastAccess = l.clock()
}

func (l *faultyLog) end(err error) { l.set(func() { l.endErr = err }) }
