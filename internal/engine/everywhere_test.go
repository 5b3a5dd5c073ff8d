package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// scenario is a short life of a stream over one view of a store: it opens, appends, merges, trims, closes and opens
// again. It returns what was acknowledged; it stops at the first operation that fails.
type scenario struct {
	view   *faultyStore
	epoch  Epoch
	acked  []string
	unsure []string
	trim   Offset // trimmed to, as far as acknowledged
	// closed is the hint from the last session that was closed.
	closed SegmentNumber
	err    error
}

func (sc *scenario) open(t *testing.T) *Session {
	sc.epoch++
	s, err := open(t.Context(), sc.view, Config{
		Stream: "s", Epoch: sc.epoch, Session: fmt.Sprintf("scenario-%d", sc.epoch), Tail: sc.closed, Created: true, Limits: smallLimits(),
	}, smallAnchors)
	if err != nil {
		sc.err = err
		return nil
	}
	sc.view.onCrash(s.Abandon)
	t.Cleanup(s.Abandon)
	return s
}

func (sc *scenario) append(t *testing.T, s *Session, text string) bool {
	_, err := s.Append(t.Context(), Append{Messages: messages(text)})
	switch {
	case err == nil:
		sc.acked = append(sc.acked, text)
	case errors.Is(err, ErrOutcomeUnknown):
		sc.unsure = append(sc.unsure, text)
		sc.err = err
	default:
		sc.err = err
	}
	return err == nil
}

func (sc *scenario) run(t *testing.T) {
	for round := range 3 {
		s := sc.open(t)
		if s == nil {
			return
		}
		for i := range 7 {
			if !sc.append(t, s, fmt.Sprintf("<%d.%d>", round, i)) {
				return
			}
			settled(t, s) // so that the calls come in one order
		}
		if round == 1 {
			if sc.err = s.Trim(t.Context(), 10); sc.err != nil {
				return
			}
			sc.trim = 10
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		c, err := s.Close(ctx)
		cancel()
		if err != nil {
			sc.err = err
			return
		}
		sc.closed = c.Tail
	}
}

// verify opens the stream afresh, at the first epoch that is free, and compares. Each message has 5 bytes, so the first
// two are trimmed where the trim was applied.
func (sc *scenario) verify(t *testing.T, base *simpleStore) {
	t.Helper()
	for _, hint := range []SegmentNumber{0, sc.closed} {
		sc.epoch++
		s, err := open(t.Context(), base, Config{
			Stream: "s", Epoch: sc.epoch, Session: fmt.Sprintf("verifier-%d", sc.epoch), Tail: hint, Created: true, Limits: smallLimits(),
		}, smallAnchors)
		if err != nil {
			t.Fatalf("opening afresh: %v", err)
		}
		start := s.Info().Start
		if start < sc.trim {
			t.Errorf("the stream starts at %d, trimmed to %d", start, sc.trim)
		}
		got := readAll(t, s, start, 7)
		want := slices.Concat(sc.acked, sc.unsure)[min(int(start)/5, len(sc.acked)):]
		sure := len(want) - len(sc.unsure)
		if text := strings.Join(got, ""); text != strings.Join(want, "") && text != strings.Join(want[:sure], "") {
			t.Errorf("read %q, want %q, of which the last %d are not sure", got, want, len(sc.unsure))
		}
		s.Abandon()
	}
}

// TestEveryCallMayFail runs the scenario once for each call that it makes and each fault, injected at that call.
func TestEveryCallMayFail(t *testing.T) {
	healthy := &scenario{view: &faultyStore{Store: newSimpleStore(), plan: func(int, call) fault { return faultNone }}}
	healthy.run(t)
	if healthy.err != nil || len(healthy.acked) != 21 {
		t.Fatalf("without faults: %v, %d acknowledged", healthy.err, len(healthy.acked))
	}
	t.Logf("the scenario makes %d calls", healthy.view.calls)
	for _, f := range []fault{faultRefused, faultAnswerLost, faultLate, faultCrash, faultCrashAfter} {
		t.Run(f.String(), func(t *testing.T) {
			for at := 1; at <= healthy.view.calls; at++ {
				base := newSimpleStore()
				sc := &scenario{view: &faultyStore{Store: base, plan: func(n int, _ call) fault {
					if n == at {
						return f
					}
					return faultNone
				}}}
				sc.run(t)
				sc.verify(t, base)
				sc.view.applyLate() // a minute later
				sc.verify(t, base)
				if t.Failed() {
					t.Fatalf("with the fault at call %d", at)
				}
			}
		})
	}
}
