package routing

import (
	"context"
	"errors"
	"time"

	"github.com/streamshift/streamshift/internal/durablestreams"
)

// view is what a decision is made from.
type view struct {
	situation Situation
	changed   <-chan struct{}
	// again is after how long to look again without a change; 0: only a change counts.
	again time.Duration
	// unaware tells that the sender has seen a pending transfer to this node, of which the node has not heard, and that
	// the register could not be asked.
	unaware bool
}

// look returns this node's view of the stream. Where the node has none, or where it would send the request away although
// the sender has seen a later register, it asks the API server.
func (n *Node) look(ctx context.Context, q *request) (view, error) {
	s, known, changed := n.cfg.Directory.Situation(q.stream)
	ahead := q.hint.aheadOf(n.cfg.Node, s)
	if known && (!ahead || Decide(n.cfg.Node, s).Act == Park) {
		return view{situation: s, changed: changed}, nil
	}
	patience := q.deadline
	if q.hint.Role == RoleTarget && q.giveBack.Before(patience) {
		patience = q.giveBack
	}
	ctx, cancel := context.WithTimeout(ctx, patience.Sub(n.cfg.Now()))
	defer cancel()
	live, err := n.cfg.Directory.Locate(ctx, q.stream)
	switch {
	case errors.Is(err, ErrNotFound):
		return view{}, ErrNotFound
	case err != nil && q.hint.Epoch > 0:
		// The API server is away, but the sender has seen that this node has to do with the stream: its own watch
		// will tell it so, or the request goes back to who owns the stream.
		return n.unheard(q, changed), nil
	case err != nil:
		return view{}, err
	case known && live.UID == s.UID && (live.Epoch < s.Epoch || live.Epoch == s.Epoch && s.Log != nil):
		return view{situation: s, changed: changed}, nil
	}
	live.Log = nil
	v := view{situation: live, changed: changed}
	if live.Owner == "" {
		v.again = unplacedPause
	}
	return v, nil
}

// unheard is the view of a stream that only the sender knows to be this node's.
func (n *Node) unheard(q *request, changed <-chan struct{}) view {
	if q.hint.Role != RoleTarget {
		return view{changed: changed}
	}
	// At the least a moment: a timer that ends early, by another clock, must not become a loop without a pause.
	return view{changed: changed, unaware: true, again: max(q.giveBack.Sub(n.cfg.Now()), time.Millisecond)}
}

// missing deals with a stream that could not be found: a PUT makes it, once, and true says to look again. Else the
// request is answered.
func (n *Node) missing(ctx context.Context, q *request, err error) (again bool) {
	switch {
	case !errors.Is(err, ErrNotFound):
		n.cfg.Log.V(2).Info("Could not locate a stream", "stream", q.stream.String(), "error", err.Error())
		n.refuse(q, "unavailable", UnavailableProblem("where the stream is could not be found out"))
		return false
	case q.create == nil:
		durablestreams.WriteProblem(q.w, durablestreams.NotFound())
		return false
	case q.made:
		n.refuse(q, "unavailable", UnavailableProblem("the stream was deleted while it was created"))
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, q.deadline.Sub(n.cfg.Now()))
	defer cancel()
	err = n.cfg.Directory.Create(ctx, q.stream, q.create.Settings)
	var problem *durablestreams.Problem
	switch {
	case errors.As(err, &problem):
		durablestreams.WriteProblem(q.w, problem)
		return false
	case err != nil:
		n.cfg.Log.V(1).Info("Could not create a stream", "stream", q.stream.String(), "error", err.Error())
		n.refuse(q, "unavailable", UnavailableProblem("the stream could not be created now"))
		return false
	}
	q.made = true
	return true
}
