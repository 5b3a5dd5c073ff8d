package streamclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
)

// Live is how a stream is followed.
type Live int

const (
	// LongPoll asks again and again, and is answered when there is something. Data are the exact bytes.
	LongPoll Live = iota
	// Events keeps one connection open, for about a minute at a time. Of a text stream, line ends arrive as LF.
	Events
)

// Follow reads a stream from an offset on and goes on with what is appended. The sequence ends after a chunk that is
// Closed, or with an error: of ctx, of the server, or ErrUnavailable where the server cannot be reached for as long as
// Options.RetryFor. A broken connection is taken up again where it broke: no byte is missed and none comes twice. Chunks
// without data tell that the reader is up to date.
func (s *Stream) Follow(ctx context.Context, from Offset, live Live) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		f := &follower{s: s, next: from, live: live}
		for {
			chunk, err := f.chunk(ctx)
			if err != nil {
				f.close()
				yield(Chunk{}, fmt.Errorf("following the stream: %w", err))
				return
			}
			f.next = chunk.Next
			if !yield(chunk, nil) || chunk.Closed {
				f.close()
				return
			}
		}
	}
}

// follower is where a reader is.
type follower struct {
	s      *Stream
	live   Live
	next   Offset
	cursor string
	// events is the open event stream; nil while there is none. cancel ends it.
	events *eventReader
	body   io.Closer
	cancel context.CancelFunc
}

// chunk waits for the next piece.
func (f *follower) chunk(ctx context.Context) (Chunk, error) {
	switch f.live {
	case LongPoll:
		return f.poll(ctx)
	case Events:
		return f.event(ctx)
	}
	return Chunk{}, errors.New("unknown way to follow a stream")
}

func (f *follower) poll(ctx context.Context) (Chunk, error) {
	q := request{
		method: http.MethodGet, url: f.s.at(f.next, "long-poll", f.cursor), safety: repeatable, timeout: liveTimeout,
	}
	a, err := f.s.client.do(ctx, q)
	if err != nil {
		return Chunk{}, err
	}
	f.cursor = a.header.Get(headerCursor)
	return chunkOf(a), nil
}

// event returns what comes next on the event stream, which it opens where there is none, or where it has ended.
func (f *follower) event(ctx context.Context) (Chunk, error) {
	var chunk Chunk
	err := f.s.client.repeat(ctx, repeatable, func() (sent, error) {
		if f.events == nil {
			if sent, err := f.open(ctx); err != nil {
				return sent, err
			}
		}
		var err error
		chunk, f.cursor, err = f.events.next(f.cursor)
		if errors.Is(err, io.EOF) { // servers end event streams from time to time
			f.close()
			if sent, err := f.open(ctx); err != nil {
				return sent, err
			}
			chunk, f.cursor, err = f.events.next(f.cursor)
		}
		if err != nil {
			f.close()
			return notApplied, fmt.Errorf("%w: reading the event stream: %w", ErrUnavailable, err)
		}
		return notApplied, nil
	})
	return chunk, err
}

func (f *follower) open(ctx context.Context) (sent, error) {
	live, cancel := context.WithTimeout(ctx, liveTimeout)
	q := request{method: http.MethodGet, url: f.s.at(f.next, "sse", f.cursor), safety: repeatable}
	response, sent, err := f.s.client.send(live, q) //nolint:bodyclose // closed by close
	if err != nil {
		cancel()
		return sent, err
	}
	f.events, f.body, f.cancel = newEventReader(response), response.Body, cancel
	return sent, nil
}

func (f *follower) close() {
	if f.events != nil {
		f.cancel()
		_ = f.body.Close()
		f.events = nil
	}
}
