// One ride of Go's streamclient: its producer and its plain append write, its event stream and its long-poll read. See the
// package documentation of test/ride for what is printed.
//
//	go run ./test/ride/go STREAM-URL
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/streamshift/streamshift/streamclient"
)

const (
	contentType = "application/json"
	// pause is the time between two appends of a writer.
	pause = 20 * time.Millisecond
)

// record is what is appended.
type record struct {
	Writer string `json:"writer"`
	Number int    `json:"number"`
}

// event is a line of output.
type event struct {
	Event   string   `json:"event"`
	By      string   `json:"by"`
	Text    string   `json:"text,omitempty"`
	Count   int      `json:"count,omitempty"`
	Records []record `json:"records,omitempty"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: ride STREAM-URL")
		os.Exit(2)
	}
	r := &ride{url: os.Args[1], out: json.NewEncoder(os.Stdout)}
	if err := r.run(context.Background()); err != nil {
		r.fail("client", err)
		os.Exit(1)
	}
}

// ride is one run of the client on one stream.
type ride struct {
	url string

	mu  sync.Mutex
	out *json.Encoder
}

func (r *ride) say(e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.out.Encode(e); err != nil {
		fmt.Fprintln(os.Stderr, "printing an event:", err)
	}
}

func (r *ride) fail(by string, err error) { r.say(event{Event: "error", By: by, Text: err.Error()}) }

// stream returns the stream as one of the writers or readers sees it.
func (r *ride) stream(by string) *streamclient.Stream {
	transport := &watching{by: by, ride: r, inner: &http.Transport{}}
	return streamclient.New("", streamclient.Options{HTTP: &http.Client{Transport: transport}}).StreamAt(r.url)
}

// watching reports every answer that is no success: the client repeats some requests silently.
type watching struct {
	by    string
	ride  *ride
	inner http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (w *watching) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := w.inner.RoundTrip(request)
	switch {
	case err != nil && request.Context().Err() == nil:
		w.ride.fail(w.by, err)
	case err == nil && response.StatusCode >= http.StatusMultipleChoices:
		w.ride.fail(w.by, fmt.Errorf("%s is answered %s", request.Method, response.Status))
	}
	return response, err
}

func (r *ride) run(ctx context.Context) error {
	if _, err := r.stream("create").Create(ctx, streamclient.CreateOptions{ContentType: contentType}); err != nil {
		return err
	}
	stopped := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // its end is what counts
		close(stopped)
	}()
	var writers, readers errgroup.Group
	readers.Go(func() error { return r.read(ctx, "sse", streamclient.Events) })
	readers.Go(func() error { return r.read(ctx, "long-poll", streamclient.LongPoll) })
	writers.Go(func() error { return r.produce(ctx, stopped) })
	writers.Go(func() error { return r.append(ctx, stopped) })
	if err := writers.Wait(); err != nil {
		return err
	}
	if err := appendTo(ctx, r.stream("end"), record{Writer: "end"}); err != nil {
		return err
	}
	r.say(event{Event: "wrote", By: "end", Count: 1})
	return readers.Wait()
}

func (r *ride) produce(ctx context.Context, stopped <-chan struct{}) error {
	const by = "producer"
	producer := r.stream(by).Producer(streamclient.ProducerOptions{ID: by, ContentType: contentType})
	count, err := repeat(stopped, func(number int) error {
		content, err := json.Marshal(record{by, number})
		if err != nil {
			return err
		}
		_, err = producer.Send(ctx, content)
		return err
	})
	if err := errors.Join(err, producer.Close(ctx)); err != nil {
		return fmt.Errorf("producing: %w", err)
	}
	r.say(event{Event: "wrote", By: by, Count: count})
	return nil
}

func (r *ride) append(ctx context.Context, stopped <-chan struct{}) error {
	const by = "plain"
	stream := r.stream(by)
	count, err := repeat(stopped, func(number int) error { return appendTo(ctx, stream, record{by, number}) })
	if err != nil {
		return err
	}
	r.say(event{Event: "wrote", By: by, Count: count})
	return nil
}

// repeat calls write with one number after the other until the writers shall stop, and returns how often it did.
func repeat(stopped <-chan struct{}, write func(number int) error) (int, error) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for number := 0; ; number++ {
		select {
		case <-stopped:
			return number, nil
		case <-tick.C:
		}
		if err := write(number); err != nil {
			return number, err
		}
	}
}

func appendTo(ctx context.Context, stream *streamclient.Stream, next record) error {
	content, err := json.Marshal(next)
	if err != nil {
		return err
	}
	_, err = stream.Append(ctx, content, streamclient.AppendOptions{ContentType: contentType})
	return err
}

func (r *ride) read(ctx context.Context, by string, live streamclient.Live) error {
	for chunk, err := range r.stream(by).Follow(ctx, streamclient.Beginning, live) {
		if err != nil {
			return err
		}
		if len(chunk.Data) == 0 {
			continue
		}
		var records []record
		if err := json.Unmarshal(chunk.Data, &records); err != nil {
			return fmt.Errorf("decoding what %s has read: %w", by, err)
		}
		r.say(event{Event: "read", By: by, Records: records})
		for _, record := range records {
			if record.Writer == "end" {
				return nil
			}
		}
	}
	return fmt.Errorf("%s has ended before the last record", by)
}
