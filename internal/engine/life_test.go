package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func TestAnEmptyAndATrimmedStreamKeepTheirOffsets(t *testing.T) {
	base := newSimpleStore()
	s := mustOpen(t, base, Config{Epoch: 1, Created: true})
	s = mustOpen(t, base, Config{Epoch: 2, Tail: mustClose(t, s).Tail})
	if got := s.Info(); got.Tail != 0 || got.Start != 0 || !got.Created {
		t.Errorf("the empty stream after a transfer: %+v", got)
	}
	mustAppend(t, s, Append{Messages: messages("12345", "678")})
	if err := s.Trim(t.Context(), 8); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, base, Config{Epoch: 3, Tail: mustClose(t, s).Tail})
	if got := s.Info(); got.Tail != 8 || got.Start != 8 {
		t.Errorf("the trimmed stream after a transfer: %+v, want all positions at 8", got)
	}
	if got := mustAppend(t, s, Append{Messages: messages("9")}); got.Next != 9 {
		t.Errorf("the next append ends at %d, want 9", got.Next)
	}
	if _, err := s.Read(t.Context(), 7, 10); !errors.Is(err, ErrTrimmed) {
		t.Errorf("reading before the start: %v, want %v", err, ErrTrimmed)
	}
	if _, err := s.Read(t.Context(), 10, 10); !errors.Is(err, ErrBeyondTail) {
		t.Errorf("reading beyond the tail: %v, want %v", err, ErrBeyondTail)
	}
	if err := s.Trim(t.Context(), 10); !errors.Is(err, ErrBeyondTail) {
		t.Errorf("trimming beyond the tail: %v, want %v", err, ErrBeyondTail)
	}
}

func TestADeletedStreamAnswersSoAndIsRemoved(t *testing.T) {
	base := newSimpleStore()
	s, err := open(t.Context(), base, Config{Stream: "stream-1", Session: "a", Epoch: 1, Created: true, Limits: smallLimits()}, smallAnchors)
	if err != nil {
		t.Fatal(err)
	}
	other := mustOpen(t, base, Config{Stream: "stream-10", Epoch: 1, Created: true})
	for i := range 20 {
		mustAppend(t, s, Append{Messages: messages(fmt.Sprint(i))})
		settled(t, s)
	}
	if err := Remove(t.Context(), base, "stream-1"); !errors.Is(err, ErrNotDeleted) {
		t.Fatalf("removing a stream that is not deleted: %v, want %v", err, ErrNotDeleted)
	}
	if err := s.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context()); err != nil {
		t.Errorf("deleting again: %v", err)
	}
	_, appending := s.Append(t.Context(), Append{Messages: messages("x")})
	_, reading := s.Read(t.Context(), 0, 1)
	_, closing := s.Close(t.Context())
	_, opening := open(t.Context(), base, Config{Stream: "stream-1", Session: "b", Epoch: 2}, smallAnchors)
	for name, err := range map[string]error{
		"appending": appending, "reading": reading, "waiting": s.Wait(t.Context(), 0), "closing": closing,
		"the session": s.Err(), "opening": opening,
	} {
		if !errors.Is(err, ErrStreamDeleted) {
			t.Errorf("%s: %v, want %v", name, err, ErrStreamDeleted)
		}
	}
	calls := 0
	for left := 1; left > 0; calls++ { // cut short at every call
		v := &faultyStore{Store: base, plan: func(n int, _ call) fault {
			if n > 3 {
				return faultRefused
			}
			return faultNone
		}}
		if err := Remove(t.Context(), v, "stream-1"); err != nil && !errors.Is(err, errFault) {
			t.Fatal(err)
		}
		keys, err := base.List(t.Context(), "stream-1/", "", 1000)
		if err != nil || calls > 100 {
			t.Fatalf("removing makes no progress: %v, left %v", err, keys)
		}
		left = len(keys)
	}
	if err := Remove(t.Context(), base, "stream-1"); err != nil {
		t.Errorf("removing again: %v", err)
	}
	mustAppend(t, other, Append{Messages: messages("the stream with a longer name lives")})
}

// TestAFencedSessionDeletesNothingOfItsSuccessor is about the clean-up of an old owner that runs late.
func TestAFencedSessionDeletesNothingOfItsSuccessor(t *testing.T) {
	base := newSimpleStore()
	var mu sync.Mutex
	hold := make(chan struct{}) // deletes of the old session wait for this
	var held []string
	old := &holdingStore{simpleStore: base, before: func(key string) {
		mu.Lock()
		held = append(held, key)
		mu.Unlock()
		<-hold
	}}
	s, err := open(t.Context(), old, Config{Stream: "s", Session: "old", Epoch: 1, Created: true, Limits: smallLimits()}, smallAnchors)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 12 {
		want = append(want, fmt.Sprintf("<%d>", i))
		mustAppend(t, s, Append{Messages: messages(want[i])})
		waitFor(s, func() bool { return s.merger.activity != mergeMerging })
	}
	next, err := open(t.Context(), base, Config{Stream: "s", Session: "next", Epoch: 2, Limits: smallLimits()}, smallAnchors)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		want = append(want, fmt.Sprintf("<next %d>", i))
		mustAppend(t, next, Append{Messages: messages(want[12+i])})
		settled(t, next)
	}
	close(hold)
	settled(t, s)
	mu.Lock()
	if len(held) == 0 {
		t.Error("the old session had nothing to delete: the test is in vain")
	}
	mu.Unlock()
	next.Abandon()
	s.Abandon()
	last, err := open(t.Context(), base, Config{Stream: "s", Session: "last", Epoch: 3, Limits: smallLimits()}, smallAnchors)
	if err != nil {
		t.Fatal(err)
	}
	defer last.Abandon()
	if diff := cmp.Diff(want, readAll(t, last, 0, 100)); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

// holdingStore calls before ahead of each delete.
type holdingStore struct {
	*simpleStore
	before func(key string)
}

func (s *holdingStore) Delete(ctx context.Context, key string) error {
	s.before(key)
	return s.simpleStore.Delete(ctx, key)
}

func TestReadersWaitAndAreReleased(t *testing.T) {
	base := newSimpleStore()
	s := mustOpen(t, base, Config{Epoch: 1, Created: true})
	wait := func(from Offset) chan error {
		result := make(chan error, 1)
		go func() { result <- s.Wait(context.Background(), from) }()
		return result
	}
	first, second := wait(0), wait(3)
	mustAppend(t, s, Append{Messages: messages("abc")})
	if err := <-first; err != nil {
		t.Errorf("waiting for an append: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Wait(ctx, 3); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting with a cancelled context: %v, want %v", err, context.Canceled)
	}
	mustClose(t, s)
	if err := <-second; !errors.Is(err, ErrSessionClosed) {
		t.Errorf("waiting while the session closes: %v, want %v", err, ErrSessionClosed)
	}
	if _, err := s.Read(t.Context(), 0, 1); !errors.Is(err, ErrSessionClosed) {
		t.Errorf("reading a closed session: %v, want %v", err, ErrSessionClosed)
	}
	if again := mustClose(t, s); again.Tail != 3 || again.Offset != 3 {
		t.Errorf("closing again: %+v, want segment 3 and offset 3", again)
	}
}

func TestAStreamThatIsClosedForAppendsReleasesReaders(t *testing.T) {
	s := mustOpen(t, newSimpleStore(), Config{Epoch: 1, Created: true})
	result := make(chan error, 1)
	go func() { result <- s.Wait(context.Background(), 0) }()
	mustAppend(t, s, Append{CloseStream: true})
	if err := <-result; err != nil {
		t.Errorf("waiting: %v", err)
	}
	if b, err := s.Read(t.Context(), 0, 1); err != nil || !b.StreamClosed {
		t.Errorf("reading at the end of a closed stream: %+v, %v", b, err)
	}
}

func TestAFenceIsFoundWithoutAnAppend(t *testing.T) {
	base := newSimpleStore()
	old := mustOpen(t, base, Config{Epoch: 1, Created: true})
	if err := old.CheckFence(t.Context()); err != nil {
		t.Errorf("before it is taken over: %v", err)
	}
	mustOpen(t, base, Config{Epoch: 4})
	var fenced *FencedError
	if err := old.CheckFence(t.Context()); !errors.As(err, &fenced) || fenced.Epoch != 4 {
		t.Errorf("after it was taken over: %v, want to be fenced by epoch 4", err)
	}
	<-old.Done()
	if err := old.Wait(t.Context(), 0); !errors.Is(err, ErrSessionClosed) {
		t.Errorf("waiting: %v, want %v", err, ErrSessionClosed)
	}
}

// blockingStore lets creates through one by one.
type blockingStore struct {
	*simpleStore
	arrived chan string
	release chan error
}

func (s *blockingStore) Create(ctx context.Context, key string, data []byte) error {
	select {
	case s.arrived <- key:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-s.release:
		if err != nil {
			return err
		}
		return s.simpleStore.Create(ctx, key, data)
	case <-ctx.Done():
		return ctx.Err()
	}
}

func blocked(t *testing.T, limits Limits) (*Session, *blockingStore) {
	t.Helper()
	base := newSimpleStore()
	mustClose(t, mustOpen(t, base, Config{Epoch: 1, Created: true}))
	b := &blockingStore{simpleStore: base, arrived: make(chan string), release: make(chan error)}
	go func() { <-b.arrived; b.release <- nil }() // the opening
	return mustOpen(t, b, Config{Epoch: 2, Limits: limits}), b
}

// submit appends in the background.
func submit(s *Session, a Append) chan error {
	result := make(chan error, 1)
	go func() {
		_, err := s.Append(context.Background(), a)
		result <- err
	}()
	return result
}

func TestEveryAppendInFlightIsAnswered(t *testing.T) {
	for name, tc := range map[string]struct {
		end                    func(*Session, *blockingStore)
		wantFlying, wantQueued error
	}{
		"the session is abandoned": {
			func(s *Session, _ *blockingStore) { s.Abandon() }, ErrOutcomeUnknown, ErrSessionClosed,
		},
		"the session is fenced": {
			func(_ *Session, b *blockingStore) {
				h := head{kind: segmentOpening, stream: "stream-1", session: "other", epoch: 3, number: 4}
				data, _ := h.encode(encodeOpeningBody(false))
				_ = b.simpleStore.Create(context.Background(), segmentKey("stream-1", 4), data)
				b.release <- nil
			}, ErrSessionClosed, ErrSessionClosed,
		},
		"the session is closed": {
			func(s *Session, b *blockingStore) {
				closed := make(chan struct{})
				go func() { _, _ = s.Close(context.Background()); close(closed) }()
				b.release <- nil // the first
				<-b.arrived
				b.release <- nil // what was queued
				<-b.arrived
				b.release <- nil // the closing segment
				<-closed
			}, nil, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, b := blocked(t, Limits{})
			flying := submit(s, Append{Messages: messages("flying")})
			<-b.arrived
			queued := submit(s, Append{Messages: messages("queued")})
			waitFor(s, func() bool { return len(s.queue) == 1 })
			tc.end(s, b)
			if err := <-flying; !errors.Is(err, tc.wantFlying) {
				t.Errorf("on its way: %v, want %v", err, tc.wantFlying)
			}
			if err := <-queued; !errors.Is(err, tc.wantQueued) {
				t.Errorf("behind it: %v, want %v", err, tc.wantQueued)
			}
			if s.waitingCount != 0 || s.waitingBytes != 0 {
				t.Errorf("%d appends of %d bytes are still counted", s.waitingCount, s.waitingBytes)
			}
		})
	}
}

// waitFor yields until a condition on the session holds.
func waitFor(s *Session, condition func() bool) {
	for {
		s.mu.Lock()
		holds := condition()
		s.mu.Unlock()
		if holds {
			return
		}
		runtime.Gosched()
	}
}

func TestADuplicateWaitsForItsOriginal(t *testing.T) {
	s, b := blocked(t, Limits{})
	a := Append{Messages: messages("x"), Producer: &Producer{ID: "p"}}
	original := submit(s, a)
	<-b.arrived
	duplicate := submit(s, a)
	waitFor(s, func() bool { return len(s.queue) == 1 })
	select {
	case err := <-duplicate:
		t.Fatalf("the duplicate is answered before its original is durable: %v", err)
	default:
	}
	b.release <- nil
	if err := <-original; err != nil {
		t.Error(err)
	}
	if err := <-duplicate; err != nil {
		t.Error(err)
	}
}

func TestARefusalWaitsForWhatItIsBasedOn(t *testing.T) {
	s, b := blocked(t, Limits{})
	closing := submit(s, Append{CloseStream: true})
	<-b.arrived
	refused := submit(s, Append{Messages: messages("x")})
	waitFor(s, func() bool { return len(s.queue) == 1 })
	s.Abandon()
	if err := <-closing; !errors.Is(err, ErrOutcomeUnknown) {
		t.Errorf("the close: %v, want %v", err, ErrOutcomeUnknown)
	}
	if err := <-refused; !errors.Is(err, ErrSessionClosed) {
		t.Errorf("the append behind it: %v, want %v: nobody knows yet whether the stream is closed", err, ErrSessionClosed)
	}
}

func TestLimitsHoldAtTheLimitAndOneBeyond(t *testing.T) {
	limits := Limits{AppendBytes: 10, AppendMessages: 3, WaitingAppends: 2, WaitingBytes: 12}
	for name, tc := range map[string]struct {
		append Append
		want   error
	}{
		"as many bytes as allowed":     {Append{Messages: messages("1234567890")}, nil},
		"one byte more":                {Append{Messages: messages("12345678901")}, ErrAppendTooLarge},
		"as many messages as allowed":  {Append{Messages: messages("1", "2", "3")}, nil},
		"one message more":             {Append{Messages: messages("1", "2", "3", "4")}, ErrAppendTooLarge},
		"the longest sequence":         {Append{Messages: messages("1"), Seq: strings.Repeat("a", maxName)}, nil},
		"a longer sequence":            {Append{Messages: messages("1"), Seq: strings.Repeat("a", maxName+1)}, ErrAppendTooLarge},
		"the longest producer":         {Append{Messages: messages("1"), Producer: &Producer{ID: strings.Repeat("a", maxName)}}, nil},
		"a longer producer":            {Append{Messages: messages("1"), Producer: &Producer{ID: strings.Repeat("a", maxName+1)}}, ErrAppendTooLarge},
		"an empty message":             {Append{Messages: messages("1", "")}, ErrAppendInvalid},
		"nothing":                      {Append{}, ErrAppendInvalid},
		"a producer without a name":    {Append{Messages: messages("1"), Producer: &Producer{}}, ErrAppendInvalid},
		"a producer below its epochs":  {Append{Messages: messages("1"), Producer: &Producer{ID: "p", Epoch: -1}}, ErrAppendInvalid},
		"a producer below its numbers": {Append{Messages: messages("1"), Producer: &Producer{ID: "p", Seq: -1}}, ErrAppendInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			s := mustOpen(t, newSimpleStore(), Config{Epoch: 1, Created: true, Limits: limits})
			if _, err := s.Append(t.Context(), tc.append); !errors.Is(err, tc.want) {
				t.Errorf("Append: %v, want %v", err, tc.want)
			}
		})
	}
	t.Run("what waits is bounded in number", func(t *testing.T) {
		s, b := blocked(t, limits)
		for range limits.WaitingAppends {
			submit(s, Append{Messages: messages("1")})
		}
		<-b.arrived
		waitFor(s, func() bool { return s.waitingCount == limits.WaitingAppends })
		if _, err := s.Append(t.Context(), Append{Messages: messages("1")}); !errors.Is(err, ErrOverloaded) {
			t.Errorf("one more: %v, want %v", err, ErrOverloaded)
		}
	})
	t.Run("what waits is bounded in bytes", func(t *testing.T) {
		s, b := blocked(t, limits)
		submit(s, Append{Messages: messages("1234567890")})
		<-b.arrived
		submit(s, Append{Messages: messages("12")})
		waitFor(s, func() bool { return s.waitingBytes == limits.WaitingBytes })
		if _, err := s.Append(t.Context(), Append{Messages: messages("1")}); !errors.Is(err, ErrOverloaded) {
			t.Errorf("one byte more: %v, want %v", err, ErrOverloaded)
		}
	})
	t.Run("producers are bounded, and the one idle for longest is forgotten", func(t *testing.T) {
		s := mustOpen(t, newSimpleStore(), Config{Epoch: 1, Created: true, Limits: Limits{Producers: 2}})
		for _, id := range []string{"a", "b", "a", "c"} { // b is forgotten
			known, _ := s.state.producers.get(id)
			seq := int64(0)
			if known.ID != "" {
				seq = known.Seq + 1
			}
			mustAppend(t, s, Append{Messages: messages("1"), Producer: &Producer{ID: id, Seq: seq}})
		}
		if got := mustAppend(t, s, Append{Messages: messages("1"), Producer: &Producer{ID: "a", Seq: 1}}); !got.Duplicate {
			t.Errorf("the producer that was used lately: %+v, want a duplicate", got)
		}
		if got := mustAppend(t, s, Append{Messages: messages("1"), Producer: &Producer{ID: "b", Seq: 0}}); got.Duplicate {
			t.Errorf("the producer idle for longest: %+v, want it to be new", got)
		}
	})
}

func TestAnUnknownOutcomeIsSettledInTheBackground(t *testing.T) {
	s, b := blocked(t, Limits{AnswerWithin: time.Millisecond, RetryAfter: time.Microsecond})
	unsure := submit(s, Append{Messages: messages("a"), Producer: &Producer{ID: "p"}})
	<-b.arrived
	if err := <-unsure; !errors.Is(err, ErrOutcomeUnknown) {
		t.Fatalf("the append that nobody answers: %v, want %v", err, ErrOutcomeUnknown)
	}
	b.release <- errFault
	<-b.arrived // it is tried again
	b.release <- nil
	waitFor(s, func() bool { return s.state.tail == 1 })
	if got := mustAppend(t, s, Append{Messages: messages("a"), Producer: &Producer{ID: "p"}}); !got.Duplicate {
		t.Errorf("the client's repetition: %+v, want a duplicate", got)
	}
}

// TestAnIdleStreamCostsLittle measures what an idle session keeps, and that it makes no call.
func TestAnIdleStreamCostsLittle(t *testing.T) {
	const sessions, most = 1000, 4 << 10
	base := newSimpleStore()
	cache := NewCache(1 << 20)
	for i := range sessions {
		s := mustOpen(t, base, Config{Stream: fmt.Sprintf("stream-%d", i), Epoch: 1, Created: true, Cache: cache})
		mustAppend(t, s, Append{Messages: messages("x")})
		mustClose(t, s)
	}
	goroutines := runtime.NumGoroutine()
	view := &faultyStore{Store: base, plan: func(int, call) fault { return faultNone }}
	before := heap()
	all := make([]*Session, sessions)
	for i := range all {
		all[i] = mustOpen(t, view, Config{Stream: fmt.Sprintf("stream-%d", i), Epoch: 2, Tail: 3, Cache: cache})
	}
	calls := view.calls
	each := (heap() - before) / sessions
	t.Logf("an idle session keeps %d bytes; opening it made %d calls", each, calls/sessions)
	if each > most {
		t.Errorf("an idle session keeps %d bytes, allowed are %d", each, most)
	}
	if calls != 2*sessions {
		t.Errorf("opening %d streams with good hints made %d calls, want one read and one create each", sessions, calls)
	}
	if n := runtime.NumGoroutine(); n > goroutines+2 {
		t.Errorf("%d goroutines more for idle sessions", n-goroutines)
	}
	runtime.KeepAlive(all)
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
