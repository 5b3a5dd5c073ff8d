package session

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/handoff"
)

var errStore = errors.New("the object store refuses")

// failingEngine fails openings, and closings of what it opened, so many times each.
type failingEngine struct {
	Engine

	mu            sync.Mutex
	opens, closes int
	sessions      []string
}

func (f *failingEngine) failOpens(times int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opens = times
}

func (f *failingEngine) attempts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sessions)
}

func (f *failingEngine) failsOpen(session string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions = append(f.sessions, session)
	f.opens--
	return f.opens >= 0
}

func (f *failingEngine) failsClose() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closes--
	return f.closes >= 0
}

// Open implements Engine.
func (f *failingEngine) Open(ctx context.Context, opening Opening) (Log, error) {
	if f.failsOpen(opening.Session) {
		return nil, errStore
	}
	log, err := f.Engine.Open(ctx, opening)
	if err != nil {
		return nil, err
	}
	return &failingLog{log, f}, nil
}

type failingLog struct {
	Log

	engine *failingEngine
}

// Close implements Log.
func (l *failingLog) Close(ctx context.Context) (engine.Closing, error) {
	if l.engine.failsClose() {
		return engine.Closing{}, errStore
	}
	return l.Log.Close(ctx) //nolint:wrapcheck // passed through
}

// TestAnOpeningThatFailsIsTriedAgain: as the same session at the same epoch, and the stream's condition says so once.
func TestAnOpeningThatFailsIsTriedAgain(t *testing.T) {
	h := newHarness(t)
	failing := &failingEngine{Engine: h.node.Engine}
	failing.failOpens(1 << 30)
	h.node.Engine = failing
	h.change(func(s *v1alpha1.StreamStatus) { s.Epoch, s.State = 4, v1alpha1.StreamOpening })
	h.see()
	for _, pause := range []time.Duration{firstOpenPause, 2 * firstOpenPause, 4 * firstOpenPause, 8 * firstOpenPause, longestOpenPause, longestOpenPause} {
		before := len(failing.attempts()) + 1
		h.until("one more attempt has failed", func() bool { return len(failing.attempts()) == before && h.phase() == handoff.SessionNone })
		h.pass(pause - time.Millisecond)
		h.until("it was looked at", func() bool { return true })
		if got := len(failing.attempts()); got != before {
			t.Errorf("%d attempts a moment before the pause of %s is over, want %d", got, pause, before)
		}
		h.pass(time.Millisecond)
	}
	h.until("the condition says so", func() bool {
		ready, _ := condition.Get(h.register().Conditions, v1alpha1.ConditionReady)
		return ready.Reason == v1alpha1.ReasonCannotOpen
	})
	failing.failOpens(0)
	h.pass(longestOpenPause)
	h.until("the stream is open", func() bool { return h.register().State == v1alpha1.StreamOpen && h.situation().Log != nil })
	if tried := slices.Compact(failing.attempts()); len(tried) != 1 {
		t.Errorf("attempts were made as sessions %v, want one", tried)
	}
	if epoch := h.register().Epoch; epoch != 4 {
		t.Errorf("the stream is open at epoch %d, want 4", epoch)
	}
	if ready, _ := condition.Get(h.register().Conditions, v1alpha1.ConditionReady); ready.Reason != v1alpha1.ReasonOpen {
		t.Errorf("Ready says %s afterwards, want %s", ready.Reason, v1alpha1.ReasonOpen)
	}
}

// TestACloseThatFailsIsTriedAgain: nothing is served meanwhile, and the completion waits for it.
func TestACloseThatFailsIsTriedAgain(t *testing.T) {
	h := newHarness(t)
	failing := &failingEngine{Engine: h.node.Engine, closes: 5}
	h.node.Engine = failing
	h.change(func(s *v1alpha1.StreamStatus) { s.Epoch, s.State = 4, v1alpha1.StreamOpening })
	h.see()
	h.until("the stream is open", func() bool { return h.register().State == v1alpha1.StreamOpen && h.situation().Log != nil })
	if err := h.append("before"); err != nil {
		t.Fatal(err)
	}
	h.accept()
	h.until("the transfer is complete", func() bool { return h.register().Node == "b" })
	if last := h.register().LastTransfer; failing.closes >= 0 || last.Tail == 0 {
		t.Errorf("completed with tail %d and %d failures to come, want the closing segment's and none", last.Tail, failing.closes)
	}
}

// TestALeaseThatHasNotRunOutIsNoReasonToLook: FenceWatch costs nothing while all is well.
func TestALeaseThatHasNotRunOutIsNoReasonToLook(t *testing.T) {
	h := newHarness(t)
	asked := make(chan struct{}, 1)
	watch := &FenceWatch{Sessions: h.node, LeaseLapsed: func() bool {
		select {
		case asked <- struct{}{}:
		default:
		}
		return false
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	log, err := h.node.Engine.Open(t.Context(), Opening{Stream: "uid-1", Epoch: 2, Session: "rescuer"})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Abandon()
	ended := make(chan error, 1)
	go func() { ended <- watch.Start(ctx) }()
	<-asked
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the end of the watch: %v", err)
	}
	if h.situation().Log == nil {
		t.Error("the log was looked at, although the lease holds")
	}
}
