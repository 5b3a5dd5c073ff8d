package engine

import (
	"errors"
	"testing"

	"github.com/streamshift/streamshift/internal/engine/store"
)

// TestALogThatEndsTooEarlyIsNotOpened: an opening there would begin a second log of the stream, without what was acknowledged.
func TestALogThatEndsTooEarlyIsNotOpened(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		first := mustOpen(t, s, Config{Epoch: 1, Created: true})
		mustAppend(t, first, Append{Messages: messages("a")})
		closed := mustClose(t, first)

		refused := func(what string, cfg Config, end SegmentNumber) {
			t.Helper()
			before, err := s.List(t.Context(), cfg.Stream+"/", "", 100)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Open(t.Context(), s, cfg)
			truncated, is := errors.AsType[*TruncatedError](err)
			if !is || truncated.End != end || truncated.Known != cfg.Known {
				t.Errorf("%s: Open: %v, want the log to end at segment %d, before %d", what, err, end, cfg.Known)
			}
			after, err := s.List(t.Context(), cfg.Stream+"/", "", 100)
			if err != nil {
				t.Fatal(err)
			}
			if len(after) != len(before) {
				t.Errorf("%s: it wrote: %v", what, after)
			}
		}
		refused("no log", Config{Stream: "elsewhere", Session: "x", Epoch: 2, Known: 1}, 0)
		refused("no log, and the first epoch", Config{Stream: "elsewhere", Session: "x", Epoch: 1, Known: 1}, 0)
		refused("no log, but a hint", Config{Stream: "elsewhere", Session: "x", Epoch: 2, Tail: 7, Known: 7}, 0)
		refused("its end is missing", Config{Stream: "stream-1", Session: "x", Epoch: 2, Known: closed.Tail + 1}, closed.Tail)
		refused("its end is missing behind the hint", Config{Stream: "stream-1", Session: "x", Epoch: 2, Tail: closed.Tail, Known: closed.Tail + 300}, closed.Tail)

		second := mustOpen(t, s, Config{Epoch: 2, Tail: closed.Tail, Known: closed.Tail})
		if got := second.Opened().Segment; got != closed.Tail+1 {
			t.Errorf("a log that is whole is opened at segment %d, want %d", got, closed.Tail+1)
		}
	})
}

// TestAHoleIsNoEnd: segments that were merged are deleted, and those behind them are there. Which it is an anchor tells.
func TestAHoleIsNoEnd(t *testing.T) {
	at := func(anchor outcome) (*opening, error) {
		o := newOpening(opener{stream: "s", session: "x", epoch: 3, producers: 10, anchors: 4, known: 3}, 0)
		for o.phase == openingSearch {
			if err := o.take(outcome{answer: answerAbsent}); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.take(outcome{answer: answerAbsent}); err != nil { // there is no segment 1
			t.Fatal(err)
		}
		if c, _ := o.next(); c.kind != callPeek || c.key != segmentKey("s", 4) {
			t.Fatalf("it goes on with %v of %s, want a look at the first anchor", c.kind, c.key)
		}
		err := o.take(anchor)
		return o, err
	}
	if o, err := at(outcome{answer: answerDone}); err != nil || o.phase != openingSearch {
		t.Errorf("with an anchor behind the hole: phase %d, %v; want it to begin anew", o.phase, err)
	}
	if _, err := at(outcome{answer: answerAbsent}); !errors.As(err, new(*TruncatedError)) {
		t.Errorf("without an anchor: %v, want the log to end too early", err)
	}
}
