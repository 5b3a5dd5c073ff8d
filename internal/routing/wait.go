package routing

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/streamshift/streamshift/internal/durablestreams"
)

// wait parks the request until the view changes. It returns false where it answered the request instead: the park time
// is over, there is no room to wait, or the client is gone.
func (n *Node) wait(ctx context.Context, q *request, v view, reason string) bool {
	select {
	case <-v.changed: // while it was served: no need of a place
		return true
	default:
	}
	q.transfer = waitsFor(v.situation)
	if q.leave == nil && !n.enter(q) { //nolint:contextcheck // the span is the request's
		return false
	}
	left := q.deadline.Sub(n.cfg.Now())
	pause := left
	if v.again > 0 {
		pause = min(pause, v.again)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-v.changed:
		return true
	case <-ctx.Done():
		// Without an answer the server would say 200.
		q.leaveParking(parkedGone)
		durablestreams.WriteProblem(q.w, UnavailableProblem("the connection ends"))
		return false
	case <-timer.C:
	}
	if pause < left {
		return true
	}
	q.leaveParking(parkedTimeout)
	at := location{node: v.situation.Owner, role: RoleOwner, epoch: v.situation.Epoch, uid: v.situation.UID}
	n.refuse(q, "unavailable", routingProblem(AnswerUnavailable, http.StatusServiceUnavailable, ProblemStreamUnavailable,
		"The request was not applied, please repeat it: "+reason+".", at))
	return false
}

// enter takes a place in the parking, or refuses the request. The body of an append is read first: left on the
// connection it would hold up requests for other streams.
func (n *Node) enter(q *request) bool {
	var held int64
	switch {
	case q.create != nil:
		for _, message := range q.create.Messages {
			held += int64(len(message))
		}
	case q.r.Method == http.MethodPost:
		body, release, err := n.cfg.Bodies.Read(q.w, q.r)
		if err != nil {
			n.refuse(q, "body", BodyProblem(err))
			return false
		}
		q.release()
		q.r, q.release = withBody(q.r, body), release
		held = int64(len(body))
	}
	leave, err := n.parking.Enter(q.stream, held)
	if err != nil {
		limit := "parking"
		if errors.Is(err, ErrStreamParkingFull) {
			limit = "stream_parking"
		}
		n.refuse(q, limit, FullProblem(err))
		return false
	}
	begun := n.cfg.Now()
	q.leave = func(result string) {
		leave()
		n.metrics.parked.WithLabelValues(result).Inc()
		n.traceParked(q, begun, result)
	}
	return true
}

func (q *request) leaveParking(result string) {
	if q.leave != nil {
		q.leave(result)
		q.leave = nil
	}
}

// withBody returns a shallow copy of r that carries these bytes.
func withBody(r *http.Request, body []byte) *http.Request {
	again := r.WithContext(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	again.ContentLength = int64(len(body))
	return again
}
