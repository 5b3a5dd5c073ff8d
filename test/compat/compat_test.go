package compat

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/engine/store"
)

var rewriteFlag = flag.Bool("rewrite", false, "write the streams of the current format anew")

// current is the folder of the format that the engine writes.
const current = "testdata/v1"

const (
	stream   = "golden"
	appends  = 300
	trimmed  = engine.Offset(27) // the end of the third message
	producer = "producer-1"
)

// text is the payload of each append.
func text(i int) string { return fmt.Sprintf("message %d", i) }

// write makes a stream that has everything: openings, closings, entries of all kinds, checkpoints and chunks, and
// segments that were merged and deleted behind an anchor. It is left without a closing segment.
func write(t *testing.T, folder string) {
	t.Helper()
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	s, err := store.OpenFile(folder)
	if err != nil {
		t.Fatal(err)
	}
	var tail engine.SegmentNumber
	for epoch, from := range []int{0, 100, 200} {
		session := open(t, s, engine.Epoch(epoch+1), tail)
		for i := from; i < from+100; i++ {
			a := engine.Append{Create: i == 0, Messages: [][]byte{[]byte(text(i))}, Seq: fmt.Sprintf("%05d", i)}
			if i > 0 {
				a.Producer = &engine.Producer{ID: producer, Epoch: 7, Seq: int64(i - 1)}
			}
			if _, err := session.Append(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		if epoch == 1 {
			if err := session.Trim(t.Context(), trimmed); err != nil {
				t.Fatal(err)
			}
		}
		if epoch < 2 {
			c, err := session.Close(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tail = c.Tail
		}
	}
}

func open(t *testing.T, s store.Store, epoch engine.Epoch, tail engine.SegmentNumber) *engine.Session {
	t.Helper()
	session, err := engine.Open(t.Context(), s, engine.Config{
		Stream: stream, Session: fmt.Sprintf("session-%d", epoch), Epoch: epoch, Tail: tail,
		Limits: engine.Limits{CheckpointSegments: 20, BlockBytes: 200, ChunkBytes: 1500},
		Clock:  func() time.Time { return time.Unix(1_700_000_000, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Abandon)
	return session
}

func TestStreamsOfEveryFormatAreRead(t *testing.T) {
	if *rewriteFlag {
		write(t, current)
	}
	folders, err := filepath.Glob("testdata/v*")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no streams to read: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) {
			copied := t.TempDir()
			if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
				t.Fatal(err)
			}
			s, err := store.OpenFile(copied)
			if err != nil {
				t.Fatal(err)
			}
			session := open(t, s, 4, 0)
			info := session.Info()
			if !info.Created || info.StreamClosed || info.Start != trimmed {
				t.Errorf("the stream: %+v, want it to be open from %d on", info, trimmed)
			}
			var want, got []string
			at := engine.Offset(0)
			for i := range appends {
				if at += engine.Offset(len(text(i))); at > trimmed {
					want = append(want, text(i)[max(0, len(text(i))-int(at-trimmed)):])
				}
			}
			if info.Tail != at {
				t.Errorf("the tail is %d, want %d", info.Tail, at)
			}
			for from := info.Start; from < info.Tail; {
				b, err := session.Read(t.Context(), from, 300)
				if err != nil {
					t.Fatalf("reading at %d: %v", from, err)
				}
				for _, m := range b.Messages {
					got = append(got, string(m))
				}
				from = b.Next
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			again, err := session.Append(t.Context(), engine.Append{
				Messages: [][]byte{[]byte("x")}, Producer: &engine.Producer{ID: producer, Epoch: 7, Seq: appends - 2},
			})
			if err != nil || !again.Duplicate {
				t.Errorf("the producer's last append again: %+v, %v, want a duplicate", again, err)
			}
		})
	}
}
