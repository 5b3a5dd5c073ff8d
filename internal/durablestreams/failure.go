package durablestreams

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/streamshift/streamshift/internal/engine"
)

// refuseAppend answers an append that failed, or returns engine.ErrSessionClosed where it was not taken at all.
// Whatever is not known to be without effect is answered as of unknown outcome.
func (h *Handler) refuseAppend(w http.ResponseWriter, r *http.Request, s Stream, err error) error {
	if errors.Is(err, engine.ErrSessionClosed) {
		return engine.ErrSessionClosed
	}
	p := refusal(err)
	if p == nil {
		// It is answered even where the request's context ended: without an answer the server would say 200, and a
		// client that is still there would take the append for stored.
		if r.Context().Err() == nil && !errors.Is(err, engine.ErrOutcomeUnknown) && !errors.Is(err, context.DeadlineExceeded) {
			h.log.Error(err, "Appending failed with an unknown outcome", "stream", s.ID)
		}
		p = &Problem{Type: ProblemOutcomeUnknown, Status: http.StatusServiceUnavailable,
			Detail: "The outcome of the append is unknown: it may or may not be applied, now or later."}
	}
	WriteProblem(w, p)
	return nil
}

// refusal returns the answer to an error that promises that the append was not applied; nil for any other error.
func refusal(err error) *Problem {
	var closed *engine.StreamClosedError
	var producer *engine.ProducerError
	switch {
	case errors.Is(err, engine.ErrStreamDeleted), errors.Is(err, engine.ErrNotCreated):
		return NotFound()
	case errors.As(err, &closed):
		p := &Problem{Type: ProblemStreamClosed, Status: http.StatusConflict, Detail: "The stream is closed for appends."}
		return p.with(headerStreamClosed, "true").with(headerNextOffset, FormatOffset(closed.Tail))
	case errors.As(err, &producer):
		return producerProblem(producer)
	case errors.Is(err, engine.ErrSeqNotRising):
		return &Problem{Type: ProblemSeqNotRising, Status: http.StatusConflict,
			Detail: "Stream-Seq is not above the last accepted one."}
	case errors.Is(err, engine.ErrAppendTooLarge): // only where the limits here are above the log's
		return beyondLimit(http.StatusRequestEntityTooLarge, "The append is larger than the log admits: %v.", err)
	case errors.Is(err, engine.ErrOverloaded):
		return overloaded("Too many appends to the stream are waiting; this one was not applied.")
	}
	return nil
}

func producerProblem(e *engine.ProducerError) *Problem {
	switch e.Fault {
	case engine.StaleProducerEpoch:
		p := &Problem{Type: ProblemProducerStale, Status: http.StatusForbidden,
			Detail: fmt.Sprintf("The producer epoch is stale: the current one is %d.", e.CurrentEpoch)}
		return p.with(headerProducerEpoch, strconv.FormatInt(e.CurrentEpoch, 10))
	case engine.ProducerSeqGap:
		p := &Problem{Type: ProblemProducerGap, Status: http.StatusConflict,
			Detail: fmt.Sprintf("The producer sequence has a gap: expected %d, received %d.", e.ExpectedSeq, e.ReceivedSeq)}
		return p.with(headerProducerExpected, strconv.FormatInt(e.ExpectedSeq, 10)).
			with(headerProducerReceived, strconv.FormatInt(e.ReceivedSeq, 10))
	case engine.ProducerEpochStart:
		return &Problem{Type: ProblemProducerStart, Status: http.StatusBadRequest,
			Detail: "A new producer epoch starts at sequence 0."}
	}
	return invalid("The producer is refused.")
}

// refuseRead answers a read that failed before anything was written, or returns engine.ErrSessionClosed.
func (h *Handler) refuseRead(w http.ResponseWriter, r *http.Request, s Stream, err error) error {
	var p *Problem
	switch {
	case errors.Is(err, engine.ErrSessionClosed):
		return engine.ErrSessionClosed
	case errors.Is(err, engine.ErrStreamDeleted), errors.Is(err, engine.ErrNotCreated):
		p = NotFound()
	case errors.Is(err, engine.ErrTrimmed):
		p = &Problem{Type: ProblemOffsetGone, Status: http.StatusGone,
			Detail: "The offset is before the first position that is retained: read from offset -1."}
	case errors.Is(err, errInsideMessage):
		p = invalid("The offset is not one that this stream hands out: it lies inside a message.")
	case errors.Is(err, engine.ErrBeyondTail):
		p = &Problem{Type: ProblemOffsetBeyondTail, Status: http.StatusBadRequest,
			Detail: "The offset is beyond the end of the stream: this stream never handed it out."}
	default:
		if r.Context().Err() == nil {
			h.readFailed(s, err)
		}
		unavailable := &Problem{Type: ProblemUnavailable, Status: http.StatusServiceUnavailable,
			Detail: "The object store did not answer; the read may be repeated."}
		p = unavailable.retryAfter(1)
	}
	WriteProblem(w, p)
	return nil
}

// readFailed notes a read that the object store did not answer, however much of it the client saw already.
func (h *Handler) readFailed(s Stream, err error) {
	h.log.Error(err, "Reading failed", "stream", s.ID)
}
