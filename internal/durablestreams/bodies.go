package durablestreams

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

var (
	// ErrBodyTooLarge tells that a body is longer than one request may have.
	ErrBodyTooLarge = errors.New("body is too large")
	// ErrBodiesFull tells that the bodies of all requests together take the room that is set aside for them.
	ErrBodiesFull = errors.New("too many bytes of bodies are in memory")
)

// firstBodyBytes is how much is read of a body before more room is taken for it.
const firstBodyBytes = 8 << 10

// Bodies reads request bodies into memory, so that a request can be repeated, and bounds what they take in all. A body
// is read before its request waits for anything: an unread one would hold the flow control of the connection that it
// shares with requests for other streams.
type Bodies struct {
	perRequest, total int64
	timeout           time.Duration
	now               func() time.Time
	used              atomic.Int64
}

// NewBodies returns a reader of bodies with room for total bytes, of which one request may take perRequest, and must
// send them within timeout.
func NewBodies(perRequest, total int64, timeout time.Duration, now func() time.Time) *Bodies {
	return &Bodies{perRequest: perRequest, total: total, timeout: timeout, now: now}
}

// Used returns how many bytes are in memory.
func (b *Bodies) Used() int64 { return b.used.Load() }

// Take reserves room for n bytes, or returns false where there is none.
func (b *Bodies) Take(n int64) bool {
	if b.used.Add(n) > b.total {
		b.used.Add(-n)
		return false
	}
	return true
}

// Give returns room that Take reserved.
func (b *Bodies) Give(n int64) { b.used.Add(-n) }

// Read reads the whole body of a request. The bytes count against the room until release is called. The error wraps
// ErrBodyTooLarge, ErrBodiesFull, os.ErrDeadlineExceeded where the body came too slowly, or is the connection's own; then nothing
// is held.
func (b *Bodies) Read(w http.ResponseWriter, r *http.Request) (body []byte, release func(), err error) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength == 0 {
		return nil, func() {}, nil
	}
	// A writer without deadlines (a test's recorder) is none that a slow peer could hold. After an error the deadline stays: the
	// server may want the rest of the body before it answers.
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(b.now().Add(b.timeout))
	if r.ContentLength > b.perRequest {
		b.drain(r)
		return nil, nil, fmt.Errorf("%w: it has %d bytes, the limit is %d", ErrBodyTooLarge, r.ContentLength, b.perRequest)
	}
	body, held, err := b.read(r)
	if err != nil {
		b.Give(held)
		if errors.Is(err, ErrBodyTooLarge) {
			b.drain(r)
		}
		return nil, nil, err
	}
	_ = control.SetReadDeadline(time.Time{})
	return body, sync.OnceFunc(func() { b.Give(held) }), nil
}

// drainBytes bounds what is read and thrown away of a body that is too large. A client that is answered while it still sends
// may see its connection reset instead of the answer.
const drainBytes = 16 << 20

// drain reads the rest of a body that is not wanted, unless the client waits for leave to send it, or it is known to have too
// much to come to an end.
func (b *Bodies) drain(r *http.Request) {
	if r.Header.Get("Expect") != "" || r.ContentLength > b.perRequest+drainBytes {
		return
	}
	_, _ = io.CopyN(io.Discard, r.Body, drainBytes)
}

// read grows the buffer with what arrives, so that a peer that only announces a large body takes no room for it. It
// returns the room held, also with an error. Only io.EOF is an end: io.ErrUnexpectedEOF is a body that was cut off.
func (b *Bodies) read(r *http.Request) (body []byte, held int64, err error) {
	limit := b.perRequest
	if r.ContentLength > 0 {
		limit = r.ContentLength
	}
	for {
		if int64(len(body)) == held {
			if held == limit {
				return body, held, b.expectEnd(r.Body)
			}
			size := min(limit, max(firstBodyBytes, 4*held))
			if !b.Take(size - held) {
				return nil, held, fmt.Errorf("%w: the limit is %d", ErrBodiesFull, b.total)
			}
			held = size
			body = append(make([]byte, 0, size), body...)
		}
		n, err := r.Body.Read(body[len(body):held])
		body = body[:len(body)+n]
		switch {
		case errors.Is(err, io.EOF):
			return body, held, nil
		case err != nil:
			return nil, held, fmt.Errorf("reading the body: %w", err)
		}
	}
}

// expectEnd returns an error unless a body ends here.
func (b *Bodies) expectEnd(body io.Reader) error {
	var probe [1]byte
	for {
		switch n, err := body.Read(probe[:]); {
		case n > 0:
			return fmt.Errorf("%w: the limit is %d bytes", ErrBodyTooLarge, b.perRequest)
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("reading the body: %w", err)
		}
	}
}
