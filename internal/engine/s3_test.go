package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/engine/store"
	_ "github.com/streamshift/streamshift/internal/engine/store/cloud" // s3://, gs://, azblob://
	"github.com/streamshift/streamshift/test/s3server"
)

// s3 starts a real S3 server on loopback and returns a store in a bucket of it, and its address.
func s3(t *testing.T) (s store.Store, address string) {
	t.Helper()
	program, err := s3server.Program()
	if err != nil {
		t.Skip(err)
	}
	for _, variable := range s3server.Env() {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
	}
	server, err := s3server.Start(context.Background(), program, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Stop()
		if t.Failed() {
			t.Logf("the server says:\n%s", server.Output())
		}
	})
	s, err = store.Open(t.Context(), s3server.StoreURL(server.Address))
	if err != nil {
		t.Fatal(err)
	}
	return s, server.Address
}

func TestS3LetsOneCreatorWin(t *testing.T) {
	s, _ := s3(t)
	if err := store.Probe(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for round := range 300 {
		race(t, s, fmt.Sprintf("race/%d", round), 8, 10)
	}
	for round := range 5 { // larger than what one request of the driver carries
		race(t, s, fmt.Sprintf("large/%d", round), 3, 20<<20)
	}
}

// race has writers create one object of a size at once, and demands that one wins and is kept.
func race(t *testing.T, s store.Store, key string, writers, size int) {
	t.Helper()
	var all sync.WaitGroup
	errs := make([]error, writers)
	data := func(i int) []byte { return bytes.Repeat([]byte{'a' + byte(i)}, size) } // #nosec G115 -- a few writers
	for i := range writers {
		all.Go(func() { errs[i] = s.Create(t.Context(), key, data(i)) })
	}
	all.Wait()
	winner, winners := 0, 0
	for i, err := range errs {
		switch {
		case err == nil:
			winner = i
			winners++
		case !errors.Is(err, store.ErrExists):
			t.Logf("%s: %v", key, err) // an unknown outcome is allowed, two winners are not
		}
	}
	if winners != 1 {
		t.Fatalf("%s has %d winners", key, winners)
	}
	if got, err := s.Get(t.Context(), key); err != nil || !bytes.Equal(got, data(winner)) {
		t.Errorf("%s does not hold what its winner wrote: %d bytes, %v", key, len(got), err)
	}
}

func TestAStreamOnS3GoesFromSessionToSession(t *testing.T) {
	s, _ := s3(t)
	var tail engine.SegmentNumber
	const transfers, appends = 5, 70 // beyond an anchor, so that segments are merged and deleted
	for epoch := range engine.Epoch(transfers) {
		session, err := engine.Open(t.Context(), s, engine.Config{
			Stream: "s", Session: fmt.Sprintf("session-%d", epoch), Epoch: epoch + 1, Tail: tail, Created: true,
			Limits: engine.Limits{CheckpointSegments: 32, CacheBytes: 1000},
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range appends {
			if _, err := session.Append(t.Context(), engine.Append{Messages: [][]byte{fmt.Appendf(nil, "%d.%02d ", epoch, i)}}); err != nil {
				t.Fatal(err)
			}
		}
		c, err := session.Close(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tail = c.Tail
	}
	last, err := engine.Open(t.Context(), s, engine.Config{Stream: "s", Session: "last", Epoch: transfers + 1}) // without a hint
	if err != nil {
		t.Fatal(err)
	}
	defer last.Abandon()
	var got, want []byte
	for from := engine.Offset(0); from < last.Info().Tail; {
		b, err := last.Read(t.Context(), from, 1000)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, bytes.Join(b.Messages, nil)...)
		from = b.Next
	}
	for epoch := range transfers {
		for i := range appends {
			want = fmt.Appendf(want, "%d.%02d ", epoch, i)
		}
	}
	if !bytes.Equal(got, want) {
		t.Errorf("read %d bytes, want %d:\n%s", len(got), len(want), got)
	}
	if err := last.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := engine.Remove(t.Context(), s, "s"); err != nil {
		t.Fatal(err)
	}
	if left, err := s.List(t.Context(), "s/", "", 10); err != nil || len(left) > 0 {
		t.Errorf("left after removing: %v, %v", left, err)
	}
}
