package durablestreams

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// discardBytes bounds what is read and thrown away of a body that is too large. A client that is answered while it
// still sends may see its connection reset instead of the answer.
const discardBytes = 16 << 20

// limitBody starts the time in which the client must have sent its body. It ends when the body was read; where it is
// not, the server still wants it before it answers, and would wait for it without end.
//
// Deadlines belong to the connection, so they go by the machine's clock. Not every writer has them; then the server's
// own time-outs are all there is.
func (h *Handler) limitBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.limits.BodyTimeout))
	}
}

// readBody reads the whole body, within the limits. The caller calls release when it holds the body no longer. On
// success the body of r is replaced by what was read, so that the request can be served again elsewhere.
func (h *Handler) readBody(w http.ResponseWriter, r *http.Request) (body []byte, release func(), p *Problem) {
	reserved := h.limits.BodyBytes
	if r.ContentLength > h.limits.BodyBytes {
		return nil, nil, h.bodyTooLarge(r)
	}
	if r.ContentLength >= 0 {
		reserved = r.ContentLength
	}
	if !h.bodies.TryAcquire(reserved) {
		return nil, nil, overloaded("Too many request bodies are being received; nothing was applied.")
	}
	body, p = h.receive(r)
	if p != nil {
		h.bodies.Release(reserved)
		return nil, nil, p
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	return body, func() { h.bodies.Release(reserved) }, nil
}

func (h *Handler) receive(r *http.Request) ([]byte, *Problem) {
	var buffer bytes.Buffer
	if r.ContentLength > 0 {
		buffer.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err := buffer.ReadFrom(io.LimitReader(r.Body, h.limits.BodyBytes+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, beyondLimit(http.StatusRequestTimeout, "The body did not arrive within the limit of %s.", h.limits.BodyTimeout)
	case err != nil:
		return nil, invalid("The body ended early.")
	case int64(buffer.Len()) > h.limits.BodyBytes:
		return nil, h.bodyTooLarge(r)
	}
	return buffer.Bytes(), nil
}

func (h *Handler) bodyTooLarge(r *http.Request) *Problem {
	if r.Header.Get("Expect") == "" { // else the client has not sent anything yet
		_, _ = io.CopyN(io.Discard, r.Body, discardBytes)
	}
	return beyondLimit(http.StatusRequestEntityTooLarge, "The body is larger than the limit of %d bytes.", h.limits.BodyBytes)
}
