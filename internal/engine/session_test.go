package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamshift/streamshift/internal/engine/store"
)

// stores runs a test over every store that needs no server.
func stores(t *testing.T, test func(t *testing.T, s store.Store)) {
	t.Helper()
	for name, url := range map[string]string{"memory": "mem://", "file": "file://" + t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			s, err := store.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			test(t, s)
		})
	}
}

func mustOpen(t *testing.T, s store.Store, cfg Config) *Session {
	t.Helper()
	if cfg.Stream == "" {
		cfg.Stream = "stream-1"
	}
	if cfg.Session == "" {
		cfg.Session = fmt.Sprintf("session-%d", cfg.Epoch)
	}
	session, err := Open(t.Context(), s, cfg)
	if err != nil {
		t.Fatalf("Open(epoch %d): %v", cfg.Epoch, err)
	}
	t.Cleanup(session.Abandon)
	return session
}

func mustAppend(t *testing.T, s *Session, a Append) Appended {
	t.Helper()
	got, err := s.Append(t.Context(), a)
	if err != nil {
		t.Fatalf("Append: %v", err)
	}
	return got
}

func mustClose(t *testing.T, s *Session) Closing {
	t.Helper()
	c, err := s.Close(t.Context())
	if err != nil {
		t.Fatalf("Close: %v", err)
	}
	return c
}

// readAll returns everything from a position on, in pieces of at most so many bytes.
func readAll(t *testing.T, s *Session, from Offset, maxBytes int) []string {
	t.Helper()
	var all []string
	for {
		b, err := s.Read(t.Context(), from, maxBytes)
		if err != nil {
			t.Fatalf("Read(%d): %v", from, err)
		}
		for _, m := range b.Messages {
			all = append(all, string(m))
		}
		if b.Next == b.Tail {
			return all
		}
		if b.Next == from {
			t.Fatalf("Read(%d) returns nothing although the tail is %d", from, b.Tail)
		}
		from = b.Next
	}
}

func messages(texts ...string) [][]byte {
	var all [][]byte
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	return all
}

func TestAStreamGoesFromSessionToSession(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		var want []string
		var tail SegmentNumber
		for epoch := Epoch(1); epoch <= 5; epoch++ {
			session := mustOpen(t, s, Config{Epoch: epoch, Tail: tail, Created: true})
			for i := range 3 {
				text := fmt.Sprintf("message %d of epoch %d", i, epoch)
				want = append(want, text)
				mustAppend(t, session, Append{Messages: messages(text)})
			}
			if diff := cmp.Diff(want, readAll(t, session, 0, 1<<20)); diff != "" {
				t.Errorf("epoch %d reads (-want +got):\n%s", epoch, diff)
			}
			c := mustClose(t, session)
			if wantOffset := Offset(len(strings.Join(want, ""))); c.Offset != wantOffset {
				t.Errorf("epoch %d closes at offset %d, want %d", epoch, c.Offset, wantOffset)
			}
			tail = c.Tail
		}
	})
}

func TestAStreamIsRecoveredWithoutAClosingSegment(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		first := mustOpen(t, s, Config{Epoch: 1, Created: true})
		mustAppend(t, first, Append{Messages: messages("a", "b")})
		first.Abandon()
		second := mustOpen(t, s, Config{Epoch: 2})
		mustAppend(t, second, Append{Messages: messages("c")})
		if diff := cmp.Diff([]string{"a", "b", "c"}, readAll(t, second, 0, 1)); diff != "" {
			t.Errorf("read (-want +got):\n%s", diff)
		}
	})
}

func TestAnOldSessionIsFenced(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		old := mustOpen(t, s, Config{Epoch: 1, Created: true})
		mustAppend(t, old, Append{Messages: messages("a")})
		mustOpen(t, s, Config{Epoch: 7})
		if _, err := old.Append(t.Context(), Append{Messages: messages("lost")}); !errors.Is(err, ErrSessionClosed) {
			t.Errorf("the old session's append: %v, want %v", err, ErrSessionClosed)
		}
		var fenced *FencedError
		if !errors.As(old.Err(), &fenced) || fenced.Epoch != 7 {
			t.Errorf("the old session ended with %v, want to be fenced by epoch 7", old.Err())
		}
		if _, err := Open(t.Context(), s, Config{Stream: "stream-1", Session: "late", Epoch: 3}); !errors.As(err, &fenced) {
			t.Errorf("opening at an old epoch: %v, want to be fenced", err)
		}
		if _, err := Open(t.Context(), s, Config{Stream: "stream-1", Session: "other", Epoch: 7}); !errors.As(err, &fenced) {
			t.Errorf("opening the same epoch by another session: %v, want to be fenced", err)
		}
	})
}

func TestManyWritersShareSegments(t *testing.T) {
	stores(t, func(t *testing.T, s store.Store) {
		session := mustOpen(t, s, Config{Epoch: 1, Created: true})
		const writers, each = 16, 20
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range each {
					a := Append{
						Messages: messages(fmt.Sprintf("%02d-%02d", w, i)),
						Producer: &Producer{ID: fmt.Sprint(w), Seq: int64(i)},
					}
					if _, err := session.Append(context.Background(), a); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		next := make([]int, writers)
		for _, text := range readAll(t, session, 0, 100) {
			var w, i int
			if _, err := fmt.Sscanf(text, "%d-%d", &w, &i); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if next[w] != i {
				t.Errorf("writer %d: message %d, want %d", w, i, next[w])
			}
			next[w] = i + 1
		}
		for w, n := range next {
			if n != each {
				t.Errorf("writer %d has %d messages, want %d", w, n, each)
			}
		}
	})
}
