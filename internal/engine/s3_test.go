package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/engine/store"
)

// s3Server is the environment variable that names the S3 server's program; hack/s3server/build.sh prints it.
const s3Server = "STREAMSHIFT_S3_SERVER"

// s3 starts a real S3 server on loopback and returns a store in a bucket of it.
func s3(t *testing.T) store.Store {
	t.Helper()
	program := os.Getenv(s3Server)
	if program == "" {
		t.Skipf("%s is not set: no S3 server to test against; hack/s3server/build.sh builds one", s3Server)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "bucket"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
	ctx, cancel := context.WithCancel(context.Background())
	server := exec.CommandContext(ctx, program, "--access", "test", "--secret", "test-secret", "--port", address, "posix", root) // #nosec G204 -- the tester names it
	var output bytes.Buffer
	server.Stdout, server.Stderr = &output, &output
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = server.Wait() // killed by the line above
		if t.Failed() {
			t.Logf("the server says:\n%s", output.String())
		}
	})
	awaitServer(t, address)
	s, err := store.Open(t.Context(), "s3://bucket?region=us-east-1&use_path_style=true&endpoint=http://"+address)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// awaitServer connects until the server listens.
func awaitServer(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = connection.Close()
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the S3 server does not listen: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func TestS3LetsOneCreatorWin(t *testing.T) {
	s := s3(t)
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
	s := s3(t)
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
