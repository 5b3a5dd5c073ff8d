package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestAClosedSessionGoesOn: a source that closed and cannot complete opens its own session again.
func TestAClosedSessionGoesOn(t *testing.T) {
	base := newSimpleStore()
	s := mustOpen(t, base, Config{Epoch: 3, Created: true})
	for round := range 3 { // closing and going on may be repeated
		mustAppend(t, s, Append{Messages: messages(fmt.Sprint(round)), Producer: &Producer{ID: "p", Seq: int64(round)}})
		s = mustOpen(t, base, Config{Epoch: 3, Tail: mustClose(t, s).Tail, Resumes: true})
	}
	if got := mustAppend(t, s, Append{Messages: messages("2"), Producer: &Producer{ID: "p", Seq: 2}}); !got.Duplicate {
		t.Errorf("a repetition across the close: %+v, want a duplicate", got)
	}
	if diff := cmp.Diff([]string{"0", "1", "2"}, readAll(t, s, 0, 100)); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
}

// TestATargetFindsWhatASourceThatWentOnAppended: the tail that a completion names is behind then, and is a hint only.
func TestATargetFindsWhatASourceThatWentOnAppended(t *testing.T) {
	base := newSimpleStore()
	source := mustOpen(t, base, Config{Epoch: 1, Created: true})
	mustAppend(t, source, Append{Messages: messages("a")})
	named := mustClose(t, source).Tail
	source = mustOpen(t, base, Config{Epoch: 1, Tail: named, Resumes: true})
	mustAppend(t, source, Append{Messages: messages("b")})

	target := mustOpen(t, base, Config{Epoch: 2, Tail: named})
	if diff := cmp.Diff([]string{"a", "b"}, readAll(t, target, 0, 100)); diff != "" {
		t.Errorf("read back at the target (-want +got):\n%s", diff)
	}
	if got, err := source.Append(t.Context(), Append{Messages: messages("c")}); !errors.Is(err, ErrSessionClosed) {
		t.Errorf("an append at the source: %+v, %v, want %v", got, err, ErrSessionClosed)
	}
}

func TestAClosedSessionDoesNotGoOnBehindAnother(t *testing.T) {
	base := newSimpleStore()
	source := mustOpen(t, base, Config{Epoch: 1, Created: true})
	tail := mustClose(t, source).Tail
	mustOpen(t, base, Config{Epoch: 2, Tail: tail})
	for name, cfg := range map[string]Config{
		"the session that closed":     {Stream: "stream-1", Session: "session-1", Epoch: 1, Tail: tail, Resumes: true},
		"one that closed nothing":     {Stream: "stream-1", Session: "session-9", Epoch: 1, Tail: tail, Resumes: true},
		"one whose end is not closed": {Stream: "stream-1", Session: "session-1", Epoch: 1, Tail: 1, Resumes: true},
		"one whose end is not there":  {Stream: "stream-1", Session: "session-1", Epoch: 1, Tail: 99, Resumes: true},
	} {
		t.Run(name, func(t *testing.T) {
			var fenced *FencedError
			if _, err := Open(t.Context(), base, cfg); !errors.As(err, &fenced) {
				t.Errorf("got %v, want to be fenced", err)
			}
		})
	}
	if _, err := Open(t.Context(), base, Config{Stream: "stream-1", Session: "session-1", Epoch: 1, Resumes: true}); err == nil {
		t.Error("a session resumes without the number of its closing segment")
	}
}

// TestAnAppendUnderWayAtACloseIsAnsweredInTime: the store hangs, so nothing ends by itself.
func TestAnAppendUnderWayAtACloseIsAnsweredInTime(t *testing.T) {
	s, b := blocked(t, Limits{AnswerWithin: 5 * time.Millisecond})
	flying := submit(s, Append{Messages: messages("flying")})
	<-b.arrived
	queued := submit(s, Append{Messages: messages("queued")})
	waitFor(s, func() bool { return s.waitingCount == 2 })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a close that is not waited for: %v, want %v", err, context.Canceled)
	}
	if _, err := s.Append(t.Context(), Append{Messages: messages("late")}); !errors.Is(err, ErrSessionClosed) {
		t.Errorf("an append after the close began: %v, want %v", err, ErrSessionClosed)
	}
	for what, answer := range map[string]chan error{"on its way": flying, "behind it": queued} {
		if err := <-answer; !errors.Is(err, ErrOutcomeUnknown) {
			t.Errorf("the append %s: %v, want %v", what, err, ErrOutcomeUnknown)
		}
	}
}
