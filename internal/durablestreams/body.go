package durablestreams

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

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
	body, release, err := h.bodies.Read(w, r)
	switch {
	case err == nil:
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.ContentLength = int64(len(body))
		return body, release, nil
	case errors.Is(err, ErrBodyTooLarge):
		h.refused(LimitBody)
		return nil, nil, beyondLimit(http.StatusRequestEntityTooLarge, "The body is larger than the limit of %d bytes.", h.limits.BodyBytes)
	case errors.Is(err, ErrBodiesFull):
		h.refused(LimitBodies)
		return nil, nil, overloaded("Too many request bodies are being received; nothing was applied.")
	case errors.Is(err, os.ErrDeadlineExceeded):
		h.refused(LimitBodyTime)
		return nil, nil, beyondLimit(http.StatusRequestTimeout, "The body did not arrive within the limit of %s.", h.limits.BodyTimeout)
	}
	return nil, nil, invalid("The body ended early.")
}
