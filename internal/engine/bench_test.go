package engine

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamshift/streamshift/internal/engine/store"
)

// BenchmarkAppend appends 1 KiB messages on the file store, by so many writers that each wait for their answer. It
// reports segments a second and appends a segment: throughput grows with the writers while segments do not.
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 16, 256} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s, err := store.OpenFile(b.TempDir())
			if err != nil {
				b.Fatal(err)
			}
			var segments atomic.Int64
			session, err := Open(b.Context(), s, Config{
				Stream: "s", Session: "session", Epoch: 1, Created: true,
				Metrics: Metrics{SegmentWritten: func(int, int, time.Duration) { segments.Add(1) }},
			})
			if err != nil {
				b.Fatal(err)
			}
			defer session.Abandon()
			message := make([]byte, 1024)
			var left atomic.Int64
			left.Store(int64(b.N))
			b.SetBytes(int64(len(message)))
			b.ResetTimer()
			var all sync.WaitGroup
			for range writers {
				all.Go(func() {
					for left.Add(-1) >= 0 {
						if _, err := session.Append(b.Context(), Append{Messages: [][]byte{message}}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(segments.Load())/b.Elapsed().Seconds(), "segments/s")
			b.ReportMetric(float64(b.N)/float64(max(1, segments.Load())), "appends/segment")
		})
	}
}

// BenchmarkTransfer closes a session and opens the next with the hint, as a transfer of an idle stream does.
func BenchmarkTransfer(b *testing.B) {
	s, err := store.OpenFile(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	var tail SegmentNumber
	for epoch := range Epoch(b.N) {
		session, err := Open(b.Context(), s, Config{Stream: "s", Session: fmt.Sprint("s", epoch), Epoch: epoch + 1, Created: true, Tail: tail})
		if err != nil {
			b.Fatal(err)
		}
		c, err := session.Close(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		tail = c.Tail
	}
}
