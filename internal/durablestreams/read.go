package durablestreams

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/streamshift/streamshift/internal/engine"
)

// serveRead answers a GET. Each one is an access, from which the TTL slides.
func (h *Handler) serveRead(w http.ResponseWriter, r *http.Request, s Stream) error {
	q, p := parseRead(r)
	if p != nil {
		WriteProblem(w, p)
		return nil
	}
	if q.mode != catchUp {
		if !h.live.TryAcquire(1) {
			h.refused(LimitLiveReads)
			WriteProblem(w, overloaded("Too many live reads are being served; catch-up reads are not affected."))
			return nil
		}
		h.counts.liveReads.Add(1)
		defer func() {
			h.counts.liveReads.Add(-1)
			h.live.Release(1)
		}()
	}
	s.Log.Touch()
	from := q.from(s.Log.Info())
	switch q.mode {
	case longPoll:
		return h.serveLongPoll(w, r, s, q, from)
	case eventStream:
		return h.serveEvents(w, r, s, q, from)
	case catchUp:
	}
	if q.start == startTail {
		return h.serveTail(w, r, s)
	}
	b, err := h.read(r.Context(), s, from, h.limits.ReadBytes)
	if err != nil {
		return h.refuseRead(w, r, s, err)
	}
	h.setCaching(w.Header(), s, b)
	w.Header().Set(headerCursor, formatCursor(nextCursor(h.clock(), q.cursor, h.jitter)))
	if etagMatches(r.Header.Get("If-None-Match"), w.Header().Get("ETag")) {
		setPosition(w.Header(), b)
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	h.writeBatch(w, s, b)
	return nil
}

// serveTail answers a read of nothing, which tells where the tail is now.
func (h *Handler) serveTail(w http.ResponseWriter, r *http.Request, s Stream) error {
	b, err := h.readTail(r.Context(), s)
	if err != nil {
		return h.refuseRead(w, r, s, err)
	}
	w.Header().Set("Cache-Control", cacheNever)
	h.writeBatch(w, s, b)
	return nil
}

// serveLongPoll answers with data as soon as there is some, or with 204 when the wait is over or the stream closed.
func (h *Handler) serveLongPoll(w http.ResponseWriter, r *http.Request, s Stream, q readRequest, from engine.Offset) error {
	patience, cancel := context.WithTimeout(r.Context(), h.limits.LongPoll-h.waited(r.Context()))
	defer cancel()
	b, err := h.read(r.Context(), s, from, h.limits.ReadBytes)
	if err == nil && len(b.Messages) == 0 && !b.StreamClosed {
		switch err = wait(patience, s, from); {
		case err == nil:
			b, err = h.read(r.Context(), s, from, h.limits.ReadBytes)
		case patience.Err() != nil && r.Context().Err() == nil:
			err = nil // nothing came: b still holds
		}
		if q.start == startTail && errors.Is(err, engine.ErrSessionClosed) {
			// Asked again at the next owner, this read would begin at the tail of then, and miss what was appended
			// in between. Told where it began, the client comes back for exactly that.
			err = nil
		}
	}
	if err != nil {
		return h.refuseRead(w, r, s, err)
	}
	header := w.Header()
	header.Set(headerCursor, formatCursor(nextCursor(h.clock(), q.cursor, h.jitter)))
	if len(b.Messages) > 0 {
		h.setCaching(header, s, b)
		if !s.Settings.expires() {
			header.Set("Cache-Control", h.chunks) // the cursor keeps a cached answer from being asked for again
		}
		h.writeBatch(w, s, b)
		return nil
	}
	header.Set("Cache-Control", cacheNever)
	setPosition(header, b)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// arrival is the context's key of when a request arrived.
type arrival struct{}

// WithArrival tells a handler when the request arrived, where it was held before it is served: a long-poll then waits
// for what is left of its time only, and stays below the time-outs of clients and proxies.
func WithArrival(ctx context.Context, at time.Time) context.Context {
	return context.WithValue(ctx, arrival{}, at)
}

// waited returns for how long the request was held before.
func (h *Handler) waited(ctx context.Context) time.Duration {
	at, known := ctx.Value(arrival{}).(time.Time)
	if !known {
		return 0
	}
	return max(h.clock().Sub(at), 0)
}

// read asks the session for a batch, within the read time-out.
func (h *Handler) read(ctx context.Context, s Stream, from engine.Offset, maxBytes int) (engine.Batch, error) {
	ctx, cancel := context.WithTimeout(ctx, h.limits.ReadTimeout)
	defer cancel()
	b, err := s.Log.Read(ctx, from, maxBytes)
	if err == nil && len(b.Messages) > 0 && s.Settings.encoding() == encodingJSON && !json.Valid(b.Messages[0]) {
		return engine.Batch{}, errInsideMessage
	}
	return b, err
}

// errInsideMessage tells that a read of a JSON stream begins where no message does, and would answer what is no JSON.
var errInsideMessage = errors.New("offset lies inside a message")

// readTail returns an empty batch at the tail. It asks the session rather than its description, which a session that has
// ended still gives.
func (h *Handler) readTail(ctx context.Context, s Stream) (engine.Batch, error) {
	b, err := h.read(ctx, s, s.Log.Info().Tail, 1)
	if err != nil {
		return engine.Batch{}, err
	}
	return engine.Batch{From: b.Tail, Next: b.Tail, Tail: b.Tail, StreamClosed: b.StreamClosed}, nil
}

// wait waits for the tail to pass from. A reader that waits keeps its stream alive: it counts as an access again and
// again, or a stream with a short TTL would expire under it.
func wait(ctx context.Context, s Stream, from engine.Offset) error {
	if s.Settings.TTL == nil {
		return s.Log.Wait(ctx, from)
	}
	for {
		slice, cancel := context.WithTimeout(ctx, max(*s.Settings.TTL/2, minWaitSlice))
		err := s.Log.Wait(slice, from)
		again := err != nil && slice.Err() != nil && ctx.Err() == nil
		cancel()
		if !again {
			return err
		}
		s.Log.Touch()
	}
}

// minWaitSlice bounds how often a waiting reader renews a TTL.
const minWaitSlice = 250 * time.Millisecond

// setCaching sets ETag and Cache-Control of a batch.
func (h *Handler) setCaching(header http.Header, s Stream, b engine.Batch) {
	header.Set("ETag", etag(s.ID, b))
	if upToDate(b) || s.Settings.expires() {
		header.Set("Cache-Control", cacheRevalidate)
		return
	}
	header.Set("Cache-Control", h.chunks)
}

// setPosition sets what tells a client where the answer leaves it.
func setPosition(header http.Header, b engine.Batch) {
	header.Set(headerNextOffset, FormatOffset(b.Next))
	if upToDate(b) {
		header.Set(headerUpToDate, "true")
	}
	if atEnd(b) {
		header.Set(headerStreamClosed, "true")
	}
}

// writeBatch answers 200 with the messages of a batch.
func (h *Handler) writeBatch(w http.ResponseWriter, s Stream, b engine.Batch) {
	rc := http.NewResponseController(w)
	written := limitWrite(rc, h.limits.WriteTimeout)
	defer written()
	header := w.Header()
	setPosition(header, b)
	as := s.Settings.encoding()
	header.Set("Content-Type", s.Settings.ContentType)
	header.Set("Content-Length", strconv.Itoa(payloadSize(b.Messages, as)))
	w.WriteHeader(http.StatusOK)

	buffered, _ := writers.Get().(*bufio.Writer)
	buffered.Reset(w)
	writePayload(buffered, b.Messages, as)
	_ = buffered.Flush() // the client is gone or too slow: its connection ends
	_ = rc.Flush()       // within the time limit, too
	buffered.Reset(io.Discard)
	writers.Put(buffered)
}

// limitWrite starts the time in which the client must accept what is written, until the function that it returns is
// called. Over HTTP/2 the time ends a stream even where nothing is being written, so it must not run while a read waits.
// Not every writer has deadlines.
func limitWrite(rc *http.ResponseController, timeout time.Duration) (done func()) {
	_ = rc.SetWriteDeadline(time.Now().Add(timeout))
	return func() { _ = rc.SetWriteDeadline(time.Time{}) }
}

// writers keeps buffers, so that a batch of many small messages is not as many small writes.
var writers = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, 32<<10) }}

// payloadSize returns how many bytes writePayload writes.
func payloadSize(messages [][]byte, as encoding) int {
	size := 0
	for _, m := range messages {
		size += len(m)
	}
	if as == encodingJSON { // brackets, and commas between
		size += 2 + max(len(messages)-1, 0)
	}
	return size
}

// writePayload writes messages as one JSON array, or one behind the other. Errors stay with the writer.
func writePayload(w *bufio.Writer, messages [][]byte, as encoding) {
	if as != encodingJSON {
		for _, m := range messages {
			_, _ = w.Write(m)
		}
		return
	}
	_ = w.WriteByte('[')
	for i, m := range messages {
		if i > 0 {
			_ = w.WriteByte(',')
		}
		_, _ = w.Write(m)
	}
	_ = w.WriteByte(']')
}
