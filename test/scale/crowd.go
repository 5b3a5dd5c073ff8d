package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/streamshift/streamshift/streamclient"
)

// crowd says how many clients do what.
type crowd struct {
	// readers is how many event streams are open at once, slow how many clients read or write slowly at once, flood how many
	// MiB are appended beside readers who do not read.
	readers, slow int
	flood         int64
}

const (
	crowdStream = "crowd"
	// crowdRecords is how many records each reader of a crowd has to see.
	crowdRecords = 20
	// crowdPatience bounds the wait for them.
	crowdPatience = 90 * time.Second
)

// check is one thing that clients do to a server.
type check struct {
	what string
	do   func(ctx context.Context, f front, c crowd) (string, error)
}

var checks = []check{
	{"nothing", quiet},
	{"event streams", manyReaders},
	{"readers who do not read", slowReaders},
	{"writers who do not write", slowWriters},
	{"a body without end", endlessBody},
	{"header bombs", headerBombs},
}

// tryFront does everything to one front and watches all of them.
func tryFront(ctx context.Context, f front, fronts []front, c crowd, out io.Writer) error {
	client := streamclient.New("", streamclient.Options{})
	for _, name := range []string{crowdStream, otherStream} {
		if _, err := client.StreamAt(f.stream(name)).Create(ctx, streamclient.CreateOptions{ContentType: contentType}); err != nil {
			return fmt.Errorf("creating stream %s: %w", name, err)
		}
	}
	var errs []error
	for _, check := range checks {
		w, err := startWatch(ctx, append([]front{f}, without(fronts, f)...))
		if err != nil {
			return err
		}
		said, err := check.do(ctx, f, c)
		seen, endErr := w.end()
		if endErr != nil {
			return endErr
		}
		if _, err := fmt.Fprintf(out, "%s, %s: %s; %s\n", f.name, check.what, said, seen); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
		if err := errors.Join(err, seen.judge()); err != nil {
			errs = append(errs, fmt.Errorf("%s, %s: %w", f.name, check.what, err))
		}
	}
	return errors.Join(errs...)
}

func without(fronts []front, f front) []front {
	var others []front
	for _, other := range fronts {
		if other != f {
			others = append(others, other)
		}
	}
	return others
}

// quiet does nothing for a while, to have something to compare with.
func quiet(ctx context.Context, _ front, _ crowd) (string, error) {
	select {
	case <-time.After(2 * time.Second):
		return "to compare with", nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// manyReaders has everybody see everything.
func manyReaders(ctx context.Context, f front, c crowd) (string, error) {
	began := time.Now()
	r, err := openReaders(ctx, f.stream(crowdStream), c.readers)
	if err != nil {
		return "", err
	}
	defer r.close()
	opened := time.Since(began)
	stream := streamclient.New("", streamclient.Options{}).StreamAt(f.stream(crowdStream))
	began = time.Now()
	for range crowdRecords {
		if _, err := stream.Append(ctx, []byte{'r', mark}, streamclient.AppendOptions{ContentType: contentType}); err != nil {
			return "", err
		}
	}
	err = r.await(ctx, int64(c.readers)*crowdRecords, crowdPatience)
	if broken := r.broken.Load(); broken > 0 {
		err = errors.Join(err, fmt.Errorf("%d event streams broke", broken))
	}
	return fmt.Sprintf("%d opened in %.1f s, each saw %d records within %.1f s", c.readers, opened.Seconds(), crowdRecords, time.Since(began).Seconds()), err
}

// slowReaders open event streams, and read nothing of what is appended then; one reader beside them sees all of it.
func slowReaders(ctx context.Context, f front, c crowd) (string, error) {
	var idle []net.Conn
	defer func() {
		for _, c := range idle {
			_ = c.Close()
		}
	}()
	for range c.slow {
		conn, _, err := openEvents(ctx, f.stream(crowdStream))
		if err != nil {
			return "", err
		}
		idle = append(idle, conn)
	}
	stream := streamclient.New("", streamclient.Options{}).StreamAt(f.stream(crowdStream))
	info, err := stream.Head(ctx)
	if err != nil {
		return "", err
	}
	followed := make(chan error, 1)
	go func() { followed <- followMarks(ctx, stream, info.Next, c.flood*1024) }()
	body := []byte(strings.Repeat(strings.Repeat("x", 1023)+string(mark), 1024))
	for range c.flood {
		if _, err := stream.Append(ctx, body, streamclient.AppendOptions{ContentType: contentType}); err != nil {
			return "", err
		}
	}
	err = <-followed
	return fmt.Sprintf("%d of them while %d MiB were appended, which one who reads has seen", c.slow, c.flood), err
}

// followMarks reads on as a client of the product does, until it has seen so many marks.
func followMarks(ctx context.Context, stream *streamclient.Stream, from streamclient.Offset, marks int64) error {
	ctx, cancel := context.WithTimeout(ctx, crowdPatience)
	defer cancel()
	var seen int64
	for chunk, err := range stream.Follow(ctx, from, streamclient.Events) {
		if err != nil {
			return fmt.Errorf("reading beside them: %d records of %d were seen: %w", seen, marks, err)
		}
		seen += int64(bytes.Count(chunk.Data, []byte{mark}))
		if seen >= marks {
			break
		}
	}
	return nil
}

// slowWriters announce the largest body that is allowed, send a little of it, and no more.
func slowWriters(ctx context.Context, f front, c crowd) (string, error) {
	var idle []net.Conn
	defer func() {
		for _, c := range idle {
			_ = c.Close()
		}
	}()
	for range c.slow {
		conn, err := request(ctx, f.stream(crowdStream), "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: "+contentType+"\r\nContent-Length: 8388608\r\n\r\nlittle")
		if err != nil {
			return "", err
		}
		idle = append(idle, conn)
	}
	if _, err := quiet(ctx, f, c); err != nil { // others go on meanwhile
		return "", err
	}
	return fmt.Sprintf("%d of them, 8 MiB announced each", c.slow), nil
}
