package routing

import (
	"context"
	"errors"
	"net/http"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/engine"
)

// serve hands the request to the protocol, and returns false where the session ended before the request was taken.
func (n *Node) serve(ctx context.Context, q *request, s Situation) (answered bool) {
	q.leaveParking(parkedServed)
	begun := n.cfg.Now()
	w := &noted{ResponseWriter: q.w}
	stream := durablestreams.Stream{ID: s.UID, Settings: s.Settings, Log: s.Log}
	var err error
	switch q.r.Method {
	case http.MethodDelete:
		err = n.remove(ctx, w, q, s)
	case http.MethodPut:
		err = n.cfg.Protocol.ServeCreate(w, q.r, stream, q.create)
	default:
		err = n.cfg.Protocol.Serve(w, q.r, stream)
	}
	if errors.Is(err, durablestreams.ErrStreamEnded) {
		// A PUT takes the place of a stream that has expired: once that is gone, it is a new one.
		err = n.cfg.Directory.Delete(ctx, q.stream, s.UID)
		if err == nil || errors.Is(err, ErrNotFound) {
			q.made = false
			err = engine.ErrSessionClosed
		}
	}
	served := n.cfg.Now().Sub(begun)
	q.deadline, q.giveBack = q.deadline.Add(served), q.giveBack.Add(served)
	switch {
	case err == nil && !w.answered:
		// Its client was taken for gone, which the end of a server looks like, too. Without an answer the server
		// would say 200: an append would be acknowledged that nobody has stored.
		durablestreams.WriteProblem(q.w, &durablestreams.Problem{
			Type: durablestreams.ProblemOutcomeUnknown, Status: http.StatusServiceUnavailable,
			Detail: "The node ends; the request may or may not be applied.",
		})
		return true
	case err == nil:
		return true
	case errors.Is(err, engine.ErrSessionClosed):
		return false
	}
	n.cfg.Log.Error(err, "Could not serve a request", "stream", q.stream.String(), "method", q.r.Method)
	n.refuse(q, "unavailable", UnavailableProblem("the stream cannot be served now"))
	return true
}

// remove deletes the stream. An error means that nothing was written.
func (n *Node) remove(ctx context.Context, w http.ResponseWriter, q *request, s Situation) error {
	info := s.Log.Info()
	end, ends := s.Settings.Expiry(info.LastAccess)
	if !info.Created || (ends && !n.cfg.Now().Before(end)) {
		durablestreams.WriteProblem(w, durablestreams.NotFound())
		return nil
	}
	err := n.cfg.Directory.Delete(ctx, q.stream, s.UID)
	switch {
	case errors.Is(err, ErrNotFound):
		durablestreams.WriteProblem(w, durablestreams.NotFound())
		return nil
	case errors.Is(err, engine.ErrSessionClosed):
		return err
	case err != nil:
		n.cfg.Log.Error(err, "Could not delete a stream", "stream", q.stream.String())
		durablestreams.WriteProblem(w, &durablestreams.Problem{
			Type: durablestreams.ProblemOutcomeUnknown, Status: http.StatusServiceUnavailable,
			Detail: "The stream may or may not be deleted; the request may be repeated.",
		})
		return nil
	}
	durablestreams.SetBaseHeaders(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// sendOn answers where the request belongs: 307 to the owner, 409 with the target, or 421 where it was sent on too often
// already.
func (n *Node) sendOn(ctx context.Context, q *request, s Situation, d Disposition) {
	q.leaveParking(parkedSentOn)
	at := location{node: d.Node, role: RoleOwner, epoch: s.Epoch, uid: s.UID, transfer: waitsFor(s)}
	if d.Act == Conflict {
		at.role = RoleTarget
	}
	address, err := n.cfg.Directory.Address(ctx, d.Node)
	if err == nil {
		at.address = address
	}
	detail := "The request was not applied: " + d.Reason + "."
	var p *durablestreams.Problem
	switch {
	case ParseHops(q.r.Header) > MaxHops:
		p = routingProblem(AnswerLoop, http.StatusMisdirectedRequest, ProblemRoutingLoop, detail, at)
	case d.Act == Conflict:
		p = routingProblem(AnswerMoved, http.StatusConflict, ProblemStreamMoved, detail, at)
	case at.address == "":
		p = routingProblem(AnswerUnavailable, http.StatusServiceUnavailable, ProblemStreamUnavailable, detail, at)
	default:
		p = routingProblem(AnswerElsewhere, http.StatusTemporaryRedirect, ProblemStreamElsewhere, detail, at)
		p.Header.Set("Location", at.address+q.r.URL.RequestURI())
	}
	n.metrics.sentOn.WithLabelValues(p.Header.Get(HeaderAnswer)).Inc()
	durablestreams.WriteProblem(q.w, p)
}

// noted notes whether an answer was begun.
type noted struct {
	http.ResponseWriter

	answered bool
}

// WriteHeader implements http.ResponseWriter.
func (n *noted) WriteHeader(status int) {
	n.answered = true
	n.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (n *noted) Write(p []byte) (int, error) {
	n.answered = true
	return n.ResponseWriter.Write(p) //nolint:wrapcheck // nothing to add
}

// Unwrap lets a http.ResponseController reach what the server made.
func (n *noted) Unwrap() http.ResponseWriter { return n.ResponseWriter }
