package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/streamshift/streamshift/streamclient"
)

// load is what is done to a system.
type load struct {
	writers, streams int
}

// loads is every load that is measured.
var loads = []load{{1, 1}, {16, 1}, {256, 1}, {1, 64}, {16, 64}, {256, 64}}

func (l load) String() string { return fmt.Sprintf("%d writers on %d streams", l.writers, l.streams) }

// measurement is the outcome of one.
type measurement struct {
	appended int
	took     time.Duration
	// latencies are those of all appends, sorted.
	latencies []time.Duration
	// objects is how many objects were created meanwhile.
	objects int64
	// failed is how many appends were refused or unanswered, lost how many acknowledged ones could not be read back.
	failed, lost int
}

// contentType is that of the streams.
const contentType = "application/octet-stream"

// measure makes new streams, has the writers append to them until the time is over, and reads everything back. Each writer
// waits for its answer before it goes on, and appends to the streams in turn.
func measure(ctx context.Context, s system, l load, o options) (measurement, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: l.writers, DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := streamclient.New(s.server.URL, streamclient.Options{HTTP: &http.Client{Transport: transport}, RetryFor: -1})
	streams := make([]*streamclient.Stream, l.streams)
	for i := range streams {
		streams[i] = client.Stream("bench", fmt.Sprintf("s-%d-%d", time.Now().UnixNano(), i))
		if _, err := streams[i].Create(ctx, streamclient.CreateOptions{ContentType: contentType}); err != nil {
			return measurement{}, err
		}
	}
	before, err := objectsOf(ctx, s)
	if err != nil {
		return measurement{}, err
	}
	m := write(ctx, streams, l.writers, o)
	after, err := objectsOf(ctx, s)
	if err != nil {
		return measurement{}, err
	}
	m.objects = after - before
	found := 0
	for _, stream := range streams {
		n, err := bytesOf(ctx, stream)
		if err != nil {
			return measurement{}, err
		}
		found += n
	}
	m.lost = m.appended - found/o.recordSize
	return m, nil
}

func objectsOf(ctx context.Context, s system) (int64, error) {
	if !s.counts {
		return 0, nil
	}
	stats, err := s.server.Stats(ctx)
	return stats.Creates, err
}

// write has the writers append and returns what came of it.
func write(ctx context.Context, streams []*streamclient.Stream, writers int, o options) measurement {
	record := bytes.Repeat([]byte("0123456789abcdef"), o.recordSize/16+1)[:o.recordSize]
	latencies := make([][]time.Duration, writers)
	failed := make([]int, writers)
	began := time.Now()
	end := began.Add(o.duration)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := w; ; i++ {
				start := time.Now()
				if start.After(end) || ctx.Err() != nil {
					return
				}
				_, err := streams[i%len(streams)].Append(ctx, record, streamclient.AppendOptions{ContentType: contentType})
				if err != nil {
					failed[w]++
					continue
				}
				latencies[w] = append(latencies[w], time.Since(start))
			}
		})
	}
	all.Wait()
	m := measurement{took: time.Since(began), latencies: slices.Concat(latencies...)}
	m.appended = len(m.latencies)
	slices.Sort(m.latencies)
	for _, n := range failed {
		m.failed += n
	}
	return m
}

// bytesOf reads a whole stream and returns its length.
func bytesOf(ctx context.Context, stream *streamclient.Stream) (int, error) {
	total := 0
	for at := streamclient.Beginning; ; {
		chunk, err := stream.Read(ctx, at)
		if err != nil {
			return 0, err
		}
		total += len(chunk.Data)
		if chunk.UpToDate || chunk.Next == at {
			return total, nil
		}
		at = chunk.Next
	}
}
