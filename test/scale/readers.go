package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// contentType is that of the streams: text, so that events show what was appended.
const contentType = "text/plain"

// mark is in every record that readers count, and nowhere else.
const mark = '#'

// readers are event streams on one stream. Each is a connection of its own.
type readers struct {
	connections []net.Conn
	marks       atomic.Int64 // seen by all together
	open        atomic.Int64 // that have not ended
	broken      atomic.Int64 // that ended within a group
	all         sync.WaitGroup
}

// openers is how many connections are made at the same time.
const openers = 50

// openReaders opens event streams from the tail on, and returns when each has got its first control event.
func openReaders(ctx context.Context, streamURL string, n int) (*readers, error) {
	r := &readers{}
	var mu sync.Mutex
	var errs []error
	slots := make(chan struct{}, openers)
	var opening sync.WaitGroup
	for range n {
		slots <- struct{}{}
		opening.Go(func() {
			defer func() { <-slots }()
			c, in, err := openEvents(ctx, streamURL)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return
			}
			r.connections = append(r.connections, c)
			r.open.Add(1)
			r.all.Go(func() { r.read(in) })
		})
	}
	opening.Wait()
	if len(errs) > 0 {
		r.close()
		return nil, fmt.Errorf("opening event streams: %d of %d failed, the first: %w", len(errs), n, errs[0])
	}
	return r, nil
}

// readerTimeout bounds how long a connection is given to its first event.
const readerTimeout = time.Minute

func openEvents(ctx context.Context, streamURL string) (net.Conn, *bufio.Reader, error) {
	c, err := request(ctx, streamURL, "GET %s?offset=now&live=sse HTTP/1.1\r\nHost: %s\r\n\r\n")
	if err != nil {
		return nil, nil, err
	}
	_ = c.SetReadDeadline(time.Now().Add(readerTimeout))
	in := bufio.NewReaderSize(c, 2048)
	status, err := in.ReadString('\n')
	if err == nil && !strings.Contains(status, " 200 ") {
		err = errors.New(strings.TrimSpace(status))
	}
	for line := ""; err == nil && !strings.Contains(line, "event: control"); {
		line, err = in.ReadString('\n')
	}
	if err != nil {
		_ = c.Close()
		return nil, nil, fmt.Errorf("opening an event stream: %w", err)
	}
	_ = c.SetReadDeadline(time.Time{})
	return c, in, nil
}

// request opens a connection and sends the head of a request; the format has the path and the host.
func request(ctx context.Context, streamURL, format string) (net.Conn, error) {
	u, err := url.Parse(streamURL)
	if err != nil {
		return nil, fmt.Errorf("parsing the stream's URL: %w", err)
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	if _, err := fmt.Fprintf(c, format, u.Path, u.Host); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("sending a request: %w", err)
	}
	return c, nil
}

// read counts marks until the connection ends. The end of a chunked body is a chunk of no bytes; anything else is broken.
func (r *readers) read(in *bufio.Reader) {
	defer r.open.Add(-1)
	last := ""
	for {
		line, err := in.ReadString('\n')
		if n := strings.Count(line, string(mark)); n > 0 {
			r.marks.Add(int64(n))
		}
		if err != nil {
			if strings.TrimSpace(last) != "0" {
				r.broken.Add(1)
			}
			return
		}
		if strings.TrimSpace(line) != "" {
			last = line
		}
		if strings.TrimSpace(line) == "0" {
			return // ended in order; HTTP/1.1 keeps the connection
		}
	}
}

// await waits until all readers together have seen so many marks.
func (r *readers) await(ctx context.Context, marks int64, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for r.marks.Load() < marks {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for readers: they have seen %d records of %d, %d of %d are open: %w",
				r.marks.Load(), marks, r.open.Load(), len(r.connections), ctx.Err())
		}
	}
	return nil
}

func (r *readers) close() {
	for _, c := range r.connections {
		_ = c.Close()
	}
	r.all.Wait()
}
