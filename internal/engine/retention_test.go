package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamshift/streamshift/internal/engine/store"
)

// hands is a clock that a test moves, in seconds.
type hands struct{ seconds atomic.Int64 }

func (h *hands) now() time.Time { return time.Unix(1_000_000+h.seconds.Load(), 0) }

func TestRetentionByBytesKeepsWholeMessages(t *testing.T) {
	bytes := func(n int64) *int64 { return &n }
	tests := map[string]struct {
		retention Retention
		wantStart Offset // of 100 messages of 10 bytes
	}{
		"without a bound everything is kept":          {Retention{}, 0},
		"a bound above the length changes nothing":    {Retention{Bytes: bytes(1001)}, 0},
		"a little more than the bound is kept":        {Retention{Bytes: bytes(942)}, 0},
		"beyond that it is trimmed to the bound":      {Retention{Bytes: bytes(940)}, 60},
		"a bound inside a message keeps that message": {Retention{Bytes: bytes(500 - 5)}, 500},
		"a bound of nothing keeps nothing":            {Retention{Bytes: bytes(0)}, 1000},
		"a bound of one byte keeps the last message":  {Retention{Bytes: bytes(1)}, 990},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			s := chunked(t, newSimpleStore(), Limits{})
			if err := s.Retain(t.Context(), test.retention); err != nil {
				t.Fatal(err)
			}
			if got := s.Info().Start; got != test.wantStart {
				t.Errorf("the stream starts at %d, want %d", got, test.wantStart)
			}
		})
	}
}

func TestRetentionByAge(t *testing.T) {
	clock := &hands{}
	objects := newSimpleStore()
	limits := Limits{CheckpointSegments: 3, ChunkBytes: 400, BlockBytes: 50}
	opened := func(epoch Epoch) *Session {
		s, err := open(t.Context(), objects, Config{
			Stream: "s", Session: fmt.Sprint("session-", epoch), Epoch: epoch, Created: true, Limits: limits, Clock: clock.now,
		}, smallAnchors)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Abandon)
		return s
	}
	retain := func(s *Session) Offset {
		t.Helper()
		if err := s.Retain(t.Context(), Retention{Age: time.Minute}); err != nil {
			t.Fatal(err)
		}
		return s.Info().Start
	}
	s := opened(1)
	for range 20 { // one message of 10 bytes a second, and a look
		clock.seconds.Add(1)
		mustAppend(t, s, Append{Messages: messages("0123456789")})
		if got := retain(s); got != 0 {
			t.Fatalf("trimmed to %d although nothing is old", got)
		}
	}
	clock.seconds.Add(49) // of the first second to the 69th: nine messages are older than a minute
	if got := retain(s); got != 90 {
		t.Errorf("the session that was there trims to %d, want 90", got)
	}
	s.Abandon()

	// The next one has seen nothing. It goes by the anchors, every fourth segment: number 1 is the opening.
	next := opened(2)
	clock.seconds.Add(6) // 15 messages are older
	got := retain(next)
	if got < 100 || got > 150 || got%10 != 0 {
		t.Errorf("the next session trims to %d, want a border from 100 to 150", got)
	}
	clock.seconds.Add(1000)
	if got := retain(next); got < 190 {
		t.Errorf("when all is old it trims to %d only", got)
	}
	clock.seconds.Add(61)
	if got := retain(next); got != 200 {
		t.Errorf("what the session has seen for long enough is trimmed to %d, want all", got)
	}
}

func TestRetentionAsksForNothingWhileNothingIsOld(t *testing.T) {
	clock := &hands{}
	counted := &faultyStore{Store: newSimpleStore(), plan: func(int, call) fault { return faultNone }}
	s, err := open(t.Context(), counted, Config{Stream: "s", Session: "a", Epoch: 1, Created: true, Clock: clock.now}, smallAnchors)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Abandon)
	for range 40 {
		mustAppend(t, s, Append{Messages: messages("0123456789")})
	}
	for range 3 {
		if err := s.Retain(t.Context(), Retention{Age: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	before := counted.calls
	for range 100 {
		clock.seconds.Add(1)
		if err := s.Retain(t.Context(), Retention{Age: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	if got := counted.calls - before; got != 0 {
		t.Errorf("%d calls of the store, want none", got)
	}
}

func TestRememberedTailsAreBounded(t *testing.T) {
	var k retaining
	for i := range 10 * retentionSamples {
		k.sample(int64(i), Offset(i))
		if len(k.samples) > retentionSamples {
			t.Fatalf("%d tails are remembered, the limit is %d", len(k.samples), retentionSamples)
		}
	}
	if last := k.samples[len(k.samples)-1]; last.at != 10*retentionSamples-1 {
		t.Errorf("the newest tail was forgotten: %+v", last)
	}
	if !slices.IsSortedFunc(k.samples, func(a, b aged) int { return int(a.at - b.at) }) {
		t.Error("the tails are not in order")
	}
}

// A session that ended while it was merging leaves objects that nothing names. The next one deletes them, and nothing else.
func TestOrphansAreCollected(t *testing.T) {
	stores(t, func(t *testing.T, st store.Store) {
		limits := Limits{CheckpointSegments: 3, ChunkBytes: 400, BlockBytes: 50}
		var want []string
		appendSome := func(s *Session, n int) {
			for range n {
				text := fmt.Sprintf("<%04d>", len(want))
				mustAppend(t, s, Append{Messages: messages(text)})
				want = append(want, text)
				settled(t, s)
			}
		}
		opened := func(epoch Epoch) *Session {
			s, err := open(t.Context(), st, Config{Stream: "s", Session: fmt.Sprint("session-", epoch), Epoch: epoch, Created: true, Limits: limits}, smallAnchors)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Abandon)
			return s
		}
		first := opened(1)
		appendSome(first, 30)
		for _, orphan := range []string{"chunk/00000000000000000031-0-session-1", "checkpoint/00000000000000000031-session-1"} {
			if err := st.Create(t.Context(), "s/"+orphan, []byte("left by a crash")); err != nil {
				t.Fatal(err)
			}
		}
		first.Abandon()
		second := opened(2)
		appendSome(second, 30)
		keys, err := st.List(t.Context(), "s/", "", 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			if strings.Contains(key, "31-") && strings.HasSuffix(key, "session-1") {
				t.Errorf("an orphan is left: %s", key)
			}
		}
		if diff := cmp.Diff(want, readAll(t, second, 0, 100)); diff != "" {
			t.Errorf("what is read differs (-want +got):\n%s", diff)
		}
		second.Abandon()
		if diff := cmp.Diff(want, readAll(t, opened(3), 0, 100)); diff != "" {
			t.Errorf("what a later session reads differs (-want +got):\n%s", diff)
		}
	})
}
