package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/streamshift/streamshift/streamclient"
	"github.com/streamshift/streamshift/test/solo"
)

// front is a process that clients talk to.
type front struct {
	name, url string
	pid       int
}

// stream returns the URL of one of the streams that a check uses.
func (f front) stream(name string) string { return f.url + "/v1/stream/default/" + name }

// watch looks after everybody else while something is done to a server: somebody who appends to another stream all the time, and
// the memory of the processes.
type watch struct {
	fronts []front
	stop   context.CancelFunc
	probe  sync.WaitGroup

	latencies []time.Duration
	failed    []error
}

// otherStream is the stream of those who must not be harmed.
const otherStream = "other"

// probePause is what passes between two appends of the probe.
const probePause = 2 * time.Millisecond

func startWatch(ctx context.Context, fronts []front) (*watch, error) {
	for _, f := range fronts {
		if err := solo.ResetPeak(f.pid); err != nil {
			return nil, err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	w := &watch{fronts: fronts, stop: stop}
	stream := streamclient.New("", streamclient.Options{RetryFor: -1}).StreamAt(fronts[0].stream(otherStream))
	w.probe.Go(func() {
		tick := time.NewTicker(probePause)
		defer tick.Stop()
		for {
			began := time.Now()
			_, err := stream.Append(context.WithoutCancel(ctx), []byte("x"), streamclient.AppendOptions{ContentType: contentType})
			if err != nil {
				w.failed = append(w.failed, err)
			} else {
				w.latencies = append(w.latencies, time.Since(began))
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return w, nil
}

// observed is what a watch saw.
type observed struct {
	p50, p99 time.Duration
	appends  int
	failed   []error
	// peaks are the most memory that each front held.
	peaks []int64
	names []string
}

func (w *watch) end() (observed, error) {
	w.stop()
	w.probe.Wait()
	slices.Sort(w.latencies)
	o := observed{appends: len(w.latencies), failed: w.failed}
	if n := len(w.latencies); n > 0 {
		o.p50, o.p99 = w.latencies[n/2], w.latencies[n*99/100]
	}
	for _, f := range w.fronts {
		m, err := solo.MemoryOf(f.pid)
		if err != nil {
			return o, err
		}
		o.peaks, o.names = append(o.peaks, m.Peak), append(o.names, f.name)
	}
	return o, nil
}

func (o observed) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "others' appends p50 %.1f ms, p99 %.1f ms, %d failed of %d; memory peak",
		milliseconds(o.p50), milliseconds(o.p99), len(o.failed), len(o.failed)+o.appends)
	for i, peak := range o.peaks {
		fmt.Fprintf(&text, " %s %s", o.names[i], mib(peak))
	}
	return text.String()
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// clientsMemory bounds what a process may hold while clients do to it what they can.
const clientsMemory = 1 << 30

// judge demands that nobody else was harmed and that memory was bounded.
func (o observed) judge() error {
	if len(o.failed) > 0 {
		return fmt.Errorf("%d appends of others failed, the first: %w", len(o.failed), o.failed[0])
	}
	if o.appends == 0 {
		return fmt.Errorf("others appended nothing")
	}
	for i, peak := range o.peaks {
		if peak > clientsMemory {
			return fmt.Errorf("%s held %s, the limit is %s", o.names[i], mib(peak), mib(clientsMemory))
		}
	}
	return nil
}
