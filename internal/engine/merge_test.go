package engine

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamshift/streamshift/internal/engine/store"
)

// TestMergedSegmentsAreDeletedAndStillRead appends more than two anchors' worth, so that segments are merged, deleted
// and found again by a session without a hint.
func TestMergedSegmentsAreDeletedAndStillRead(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		session := mustOpen(t, s, Config{Epoch: 1, Created: true})
		var want []string
		for i := range 3 * anchorEvery {
			text := fmt.Sprintf("message %d", i)
			want = append(want, text)
			mustAppend(t, session, Append{Messages: messages(text), Producer: &Producer{ID: "p", Seq: int64(i)}})
		}
		settled(t, session)
		keys, err := s.List(t.Context(), "stream-1/log/", "", 10_000)
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) > 2*anchorEvery+10 {
			t.Errorf("%d segments are left of %d", len(keys), 3*anchorEvery+1)
		}
		if diff := cmp.Diff(want, readAll(t, session, 0, 100)); diff != "" {
			t.Errorf("read by the session that merged (-want +got):\n%s", diff)
		}
		session.Abandon()

		next := mustOpen(t, s, Config{Epoch: 2})
		if diff := cmp.Diff(want, readAll(t, next, 0, 1000)); diff != "" {
			t.Errorf("read by the next session (-want +got):\n%s", diff)
		}
		a := Append{Messages: messages("again"), Producer: &Producer{ID: "p", Seq: 3*anchorEvery - 1}}
		if got := mustAppend(t, next, a); !got.Duplicate {
			t.Errorf("a repeated append is not a duplicate: %+v", got)
		}
	})
}

// settled yields until the session's background work is done.
func settled(t *testing.T, s *Session) {
	t.Helper()
	waitFor(s, func() bool { return s.merger.activity == mergeIdle })
}
