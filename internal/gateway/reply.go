package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
)

// reply is a node's answer for a stream.
type reply struct {
	status int
	header http.Header
	// body is the whole body, or the start of it where rest is set.
	body []byte
	// rest is what follows body and is still on its way: an event stream, or an answer too large to be held back.
	rest io.ReadCloser
	// cancel gives up on the node, with the reason; it ends rest.
	cancel context.CancelCauseFunc
	// held is how much room body takes; release gives it back.
	held    int64
	release func()
}

// end gives back what the reply holds.
func (a *reply) end() {
	a.release()
	if a.rest != nil {
		a.cancel(nil)
		_ = a.rest.Close()
	}
}

// isEvents tells whether an answer is an event stream.
func isEvents(status int, header http.Header) bool {
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	return err == nil && status == http.StatusOK && kind == "text/event-stream"
}

// receive takes a node's answer in: whole where it fits, so that it can be asked for again where the node dies in the
// middle. An error means that the answer broke off.
func (x *exchange) receive(response *http.Response, cancel context.CancelCauseFunc) (*reply, error) {
	a := &reply{status: response.StatusCode, header: response.Header, cancel: cancel, release: func() {}}
	switch {
	case x.r.Method == http.MethodHead, response.Body == http.NoBody:
		return a, nil
	case isEvents(a.status, a.header):
		a.rest = response.Body
		return a, nil
	}
	limit := x.g.cfg.Limits.ReplyBytes
	var held int64
	for {
		if int64(len(a.body)) == held {
			size := nextSize(held, limit, response.ContentLength)
			if size == held || !x.g.replies.Take(size-held) {
				a.rest = response.Body // too large, or no room: passed on as it comes
				break
			}
			held = size
			a.body = append(make([]byte, 0, size), a.body...)
		}
		n, err := response.Body.Read(a.body[len(a.body):held])
		a.body = a.body[:len(a.body)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			x.g.replies.Give(held)
			return nil, fmt.Errorf("reading the answer of a node: %w", err)
		}
	}
	a.held, a.release = held, func() { x.g.replies.Give(held) }
	return a, nil
}

// firstReplyBytes is how much room an answer of unknown length takes first.
const firstReplyBytes = 4 << 10

// nextSize returns to how many bytes the room for an answer grows, and held where it must not grow. An answer whose
// length is known takes its room at once, and one byte more, so that its end is seen without growing again.
func nextSize(held, limit, length int64) int64 {
	switch {
	case length > limit:
		return held
	case length >= 0:
		return max(held, length+1)
	}
	return max(held, min(limit, max(firstReplyBytes, 4*held)))
}

// copyRest passes on the rest of an answer as it comes; before each write it calls extend.
func copyRest(w io.Writer, rest io.Reader, extend func()) error {
	buffer := make([]byte, 32<<10)
	for {
		n, err := rest.Read(buffer)
		if n > 0 {
			extend()
			if _, err := w.Write(buffer[:n]); err != nil {
				return fmt.Errorf("writing to the client: %w", err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the answer of a node: %w", err)
		}
	}
}
