package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamshift/streamshift/internal/routing"
	"github.com/streamshift/streamshift/internal/routing/routingtest"
)

// TestRide lets plain and idempotent appenders, a long-poll reader and an event-stream reader ride through transfers.
// Nothing fails, nothing is lost, doubled or out of order.
func TestRide(t *testing.T) {
	const transfers = 50
	tests := map[string]func(b *bench){
		"the table follows the register":            func(*bench) {},
		"the table lags: only answers tell":         func(b *bench) { b.Unfeed() },
		"the table lags, and knows only one stream": func(b *bench) { b.Unfeed(); b.table.Remove(orders) },
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, routingtest.Options{}, nil)
			b.Start(orders, text, "a")
			prepare(b)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			groups, failed := events(ctx, t, b.url+ordersPath+"?offset=-1&live=sse")
			stop := make(chan struct{})
			var appended [3]atomic.Int64
			var done sync.WaitGroup
			for i := range appended {
				done.Go(func() { b.append(t, i, &appended[i], stop) })
			}
			polled := make(chan string, 1)
			go func() { polled <- b.poll(t) }()

			names := []string{"a", "b", "c"}
			for i := range transfers {
				target := names[(i+1)%3]
				switch i % 5 {
				case 4: // back to back: nobody gets a word in
					b.Transfer(orders, target)
					continue
				case 3: // long enough for all to wait at the target
					b.Accept(orders, target)
					b.Close(orders)
					parked := func() bool { return b.nodes[target].Front.Parked() >= len(appended) }
					routingtest.Eventually(t, "all appenders wait at the target", parked)
					b.Complete(orders)
					b.Open(orders)
				default:
					b.Transfer(orders, target)
				}
				var before [3]int64
				for i := range appended {
					before[i] = appended[i].Load()
				}
				routingtest.Eventually(t, "every appender goes on", func() bool {
					return appended[0].Load() > before[0] && appended[1].Load() > before[1] && appended[2].Load() > before[2]
				})
			}
			close(stop)
			done.Wait()
			if a := b.client.Do(http.MethodPost, b.url+ordersPath, "", "Stream-Closed: true"); a.Status != http.StatusNoContent {
				t.Fatalf("closing the stream is answered %d %s", a.Status, a.Body)
			}

			content := b.client.Do(http.MethodGet, b.url+ordersPath, "").Body
			counts := []int64{appended[0].Load(), appended[1].Load(), appended[2].Load()}
			judge(t, content, counts)
			if got := <-polled; got != content {
				t.Errorf("the long-poll reader has %d bytes that differ from the stream's %d", len(got), len(content))
			}
			var streamed strings.Builder
			for g := range groups {
				streamed.WriteString(g.Data)
			}
			select {
			case err := <-failed:
				t.Errorf("the event stream broke: %v", err)
			default:
			}
			if got := streamed.String(); got != content {
				t.Errorf("the event stream's reader has %d bytes that differ from the stream's %d", len(got), len(content))
			}
			if r, _ := b.Register(orders); r.Epoch != transfers+1 {
				t.Errorf("the epoch is %d after %d transfers", r.Epoch, transfers)
			}
			t.Logf("%v records appended over %d transfers", counts, transfers)
		})
	}
}

// append appends one record after the other until stop is closed, and counts those that were acknowledged. Appender 0 is
// a plain one.
func (b *bench) append(t *testing.T, appender int, appended *atomic.Int64, stop <-chan struct{}) {
	t.Helper()
	client := routingtest.NewClient(t)
	for i := 0; ; i++ {
		var headers []string
		if appender > 0 {
			headers = []string{fmt.Sprintf("Producer-Id: p%d", appender), "Producer-Epoch: 0", fmt.Sprintf("Producer-Seq: %d", i)}
		}
		a := client.Do(http.MethodPost, b.url+ordersPath, fmt.Sprintf("%d:%d;", appender, i), headers...)
		if a.Status != http.StatusNoContent && a.Status != http.StatusOK {
			t.Errorf("append %d of %d is answered %d %s", i, appender, a.Status, a.Body)
			return
		}
		appended.Add(1)
		select {
		case <-stop:
			return
		default:
		}
	}
}

// poll follows the stream by long-polls until it is closed, and returns what it read.
func (b *bench) poll(t *testing.T) string {
	t.Helper()
	client := routingtest.NewClient(t)
	var read strings.Builder
	offset := "-1"
	for {
		a := client.Do(http.MethodGet, b.url+ordersPath+"?live=long-poll&offset="+offset, "")
		if a.Status != http.StatusOK && a.Status != http.StatusNoContent {
			t.Errorf("a long-poll is answered %d %s", a.Status, a.Body)
			return read.String()
		}
		read.WriteString(a.Body)
		offset = a.Header.Get("Stream-Next-Offset")
		if a.Header.Get("Stream-Closed") == "true" {
			return read.String()
		}
	}
}

// judge checks that a stream holds what each appender appended, once and in order.
func judge(t *testing.T, content string, appended []int64) {
	t.Helper()
	next := make([]int64, len(appended))
	for record := range strings.SplitSeq(strings.TrimSuffix(content, ";"), ";") {
		var appender int
		var i int64
		if _, err := fmt.Sscanf(record, "%d:%d", &appender, &i); err != nil {
			t.Fatalf("the stream holds %q: %v", record, err)
		}
		if i != next[appender] {
			t.Fatalf("after record %d of appender %d comes %d", next[appender]-1, appender, i)
		}
		next[appender]++
	}
	if diff := cmp.Diff(appended, next); diff != "" {
		t.Errorf("records of each appender differ (-appended +stored):\n%s", diff)
	}
}

// TestRideThroughADeath: a node dies in the middle and the stream is taken over, twice. Idempotent appends and readers
// notice nothing.
func TestRideThroughADeath(t *testing.T) {
	b := newBench(t, routingtest.Options{}, nil)
	b.Start(orders, text, "a")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	groups, failed := events(ctx, t, b.url+ordersPath+"?offset=-1&live=sse")
	stop := make(chan struct{})
	var appended [3]atomic.Int64
	var done sync.WaitGroup
	for i := 1; i < 3; i++ {
		done.Go(func() { b.append(t, i, &appended[i], stop) })
	}
	polled := make(chan string, 1)
	go func() { polled <- b.poll(t) }()
	tail := func() string {
		return b.client.Do(http.MethodHead, b.url+ordersPath, "").Header.Get("Stream-Next-Offset")
	}
	for _, step := range [][2]string{{"a", "b"}, {"b", "c"}} {
		before := tail()
		routingtest.Eventually(t, "appends go on", func() bool { return tail() > before })
		b.nodes[step[0]].Kill()
		b.TakeOver(orders, step[1])
	}
	before := tail()
	routingtest.Eventually(t, "appends go on", func() bool { return tail() > before })
	close(stop)
	done.Wait()
	b.client.Do(http.MethodPost, b.url+ordersPath, "", "Stream-Closed: true")
	content := b.client.Do(http.MethodGet, b.url+ordersPath, "").Body
	judge(t, content, []int64{0, appended[1].Load(), appended[2].Load()})
	if got := <-polled; got != content {
		t.Errorf("the long-poll reader has %d bytes that differ from the stream's %d", len(got), len(content))
	}
	var streamed strings.Builder
	for g := range groups {
		streamed.WriteString(g.Data)
	}
	select {
	case err := <-failed:
		t.Errorf("the event stream broke: %v", err)
	default:
	}
	if got := streamed.String(); got != content {
		t.Errorf("the event stream's reader has %d bytes that differ from the stream's %d", len(got), len(content))
	}
}

// TestStreamsShareNoQueue: a stream whose node hangs holds up no other, not even on the same node.
func TestStreamsShareNoQueue(t *testing.T) {
	b := newBench(t, routingtest.Options{ParkTimeout: time.Minute}, nil)
	b.Make(orders, text)
	b.Place(orders, "a") // and not opened
	b.Start(other, text, "a")
	const waiting = 100 // together far more than one connection lets a peer send ahead
	large := strings.Repeat("x", 64<<10)
	answers := make([]func() routingtest.Answer, waiting)
	for i := range answers {
		answers[i] = b.client.Go(http.MethodPost, b.url+ordersPath, large)
	}
	routingtest.Eventually(t, "all wait", func() bool { return b.nodes["a"].Front.Parked() == waiting })
	for range 100 {
		if a := b.client.Do(http.MethodPost, b.url+otherPath, "x"); a.Status != http.StatusNoContent {
			t.Fatalf("an append to another stream is answered %d", a.Status)
		}
	}
	b.Open(orders)
	for _, answer := range answers {
		if a := answer(); a.Status != http.StatusNoContent {
			t.Errorf("a parked append is answered %d %s", a.Status, a.Body)
		}
	}
	if a := b.client.Do(http.MethodHead, b.url+ordersPath, ""); a.Header.Get("Stream-Next-Offset") != fmt.Sprintf("%019d", waiting*len(large)) {
		t.Errorf("the tail is %s after %d appends", a.Header.Get("Stream-Next-Offset"), waiting)
	}
}

func TestUnknownStreamsAreFound(t *testing.T) {
	b := newBench(t, routingtest.Options{PlaceOn: "c"}, nil)
	b.Unfeed()
	if a := b.client.Do(http.MethodGet, b.url+ordersPath, ""); a.Status != http.StatusNotFound {
		t.Errorf("a stream that does not exist is answered %d, want 404", a.Status)
	}
	if a := b.client.Do(http.MethodPut, b.url+ordersPath, "one"); a.Status != http.StatusCreated {
		t.Errorf("PUT is answered %d %s, want 201", a.Status, a.Body)
	}
	a := b.client.Do(http.MethodGet, b.url+ordersPath, "")
	if a.Body != "one" {
		t.Errorf("the stream holds %q, want %q", a.Body, "one")
	}
	for name := range a.Header {
		if strings.HasPrefix(name, routing.HeaderPrefix) {
			t.Errorf("the client is shown the header %s", name)
		}
	}
	// One that a node cannot be reached for is asked of the others.
	for _, name := range []string{"a", "b"} {
		b.nodes[name].Cut()
	}
	if a := b.client.Do(http.MethodGet, b.url+ordersPath, ""); a.Status != http.StatusOK {
		t.Errorf("with two nodes down the third is not asked: %d %s", a.Status, a.Body)
	}
}
