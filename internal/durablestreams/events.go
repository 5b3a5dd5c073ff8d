package durablestreams

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/streamshift/streamshift/internal/engine"
)

// serveEvents answers with server-sent events. What is sent is a sequence of groups, each one flushed as a whole: a
// data event (none where there is no data) and its control event. Clients resume from the last control event, and take
// a connection that breaks off elsewhere for an error, so the answer ends only behind a group, and normally.
func (h *Handler) serveEvents(w http.ResponseWriter, r *http.Request, s Stream, q readRequest, from engine.Offset) error {
	// Connections that were opened together shall not all come back together.
	life := h.limits.EventStream + time.Duration(h.jitter(int64(h.limits.EventStream)/10+1))
	ctx, cancel := context.WithTimeout(r.Context(), life)
	defer cancel()
	b, err := h.read(r.Context(), s, from, h.limits.EventBytes)
	if err != nil {
		return h.refuseRead(w, r, s, err)
	}
	events := newEventWriter(w, h.limits.WriteTimeout, s.Settings.encoding())
	cursor := nextCursor(h.clock(), q.cursor, h.jitter)
	for {
		sent := sendable(b, s.Settings.encoding())
		if err := events.send(sent, cursor); err != nil || atEnd(sent) || ctx.Err() != nil {
			return nil
		}
		if upToDate(b) {
			if wait(ctx, s, b.Tail) != nil || h.expired(s) {
				return nil // the time is over, the client is gone or the session has ended: a group was the last
			}
		}
		s.Log.Touch()
		if b, err = h.read(r.Context(), s, sent.Next, h.limits.EventBytes); err != nil {
			h.endEvents(r, s, err)
			return nil
		}
		cursor = max(cursor, nextCursor(h.clock(), "", h.jitter))
	}
}

// endEvents notes why an event stream ended early, where that is a failure.
func (h *Handler) endEvents(r *http.Request, s Stream, err error) {
	if !errors.Is(err, engine.ErrSessionClosed) && !errors.Is(err, engine.ErrStreamDeleted) && r.Context().Err() == nil {
		h.readFailed(s, err)
	}
}

// sendable returns what of a batch can be sent as an event now. Events are UTF-8, so a character of a text whose bytes
// are not all there yet waits for the rest: in the next chunk, or in the next append. At the end of the stream it is
// sent as it is.
func sendable(b engine.Batch, as encoding) engine.Batch {
	if as != encodingText || atEnd(b) {
		return b
	}
	held := incompleteRune(b.Messages)
	if upToDate(b) {
		b.Tail -= engine.Offset(held) // nothing behind it can be sent yet: the reader is up to date
	}
	b.Next -= engine.Offset(held)
	b.Messages = cutEnd(b.Messages, held)
	return b
}

// cutEnd returns the messages without their last n bytes.
func cutEnd(messages [][]byte, n int) [][]byte {
	if n == 0 {
		return messages
	}
	kept := slices.Clone(messages)
	for n > 0 {
		last := len(kept) - 1
		if n < len(kept[last]) {
			kept[last] = kept[last][:len(kept[last])-n]
			break
		}
		n -= len(kept[last])
		kept = kept[:last]
	}
	return kept
}

// eventWriter writes groups of events.
type eventWriter struct {
	w       http.ResponseWriter
	rc      *http.ResponseController
	timeout time.Duration
	as      encoding
}

// newEventWriter starts the answer.
func newEventWriter(w http.ResponseWriter, timeout time.Duration, as encoding) *eventWriter {
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache, no-transform")
	header.Set("X-Accel-Buffering", "no") // a proxy in front must not collect events
	if as == encodingBytes {
		header.Set(headerDataEncoding, "base64")
	}
	w.WriteHeader(http.StatusOK)
	return &eventWriter{w: w, rc: http.NewResponseController(w), timeout: timeout, as: as}
}

// control is the payload of a control event.
type control struct {
	StreamNextOffset string `json:"streamNextOffset"`
	// StreamCursor is absent where nothing follows.
	StreamCursor string `json:"streamCursor,omitempty"`
	UpToDate     bool   `json:"upToDate,omitempty"`
	StreamClosed bool   `json:"streamClosed,omitempty"`
}

// send writes one group and waits until it is on its way to the client. It goes out in pieces, so that a client who takes nothing
// holds a piece and not a group; one who is cut off inside a group is cut off for good.
func (e *eventWriter) send(b engine.Batch, cursor int64) error {
	c := control{StreamNextOffset: FormatOffset(b.Next), UpToDate: upToDate(b), StreamClosed: atEnd(b)}
	if !c.StreamClosed {
		c.StreamCursor = formatCursor(cursor)
	}
	payload, err := json.Marshal(c)
	if err != nil {
		return err
	}
	written := limitWrite(e.rc, e.timeout)
	defer written()
	buffered, _ := writers.Get().(*bufio.Writer)
	buffered.Reset(e.w)
	defer func() {
		buffered.Reset(io.Discard)
		writers.Put(buffered)
	}()
	if len(b.Messages) > 0 {
		writeDataEvent(buffered, b.Messages, e.as)
	}
	_, _ = buffered.WriteString("event: control\ndata:")
	_, _ = buffered.Write(payload)
	_, _ = buffered.WriteString("\n\n")
	if err := buffered.Flush(); err != nil {
		return err
	}
	return e.rc.Flush()
}
