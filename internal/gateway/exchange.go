package gateway

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/routing"
)

// mode is what kind of answer a request waits for.
type mode int

const (
	// plain is answered as soon as the node can.
	plain mode = iota
	// longPoll is a read that a node may hold for a while.
	longPoll
	// eventStream is a read that goes on.
	eventStream
)

const (
	firstPause   = 5 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// exchange is one request of a client on its way to an answer.
type exchange struct {
	g      *Gateway
	w      http.ResponseWriter
	r      *http.Request
	stream routing.Stream
	mode   mode
	body   []byte
	// query and header are what nodes are sent.
	query  string
	header http.Header

	begun, deadline time.Time
	// next is the node that an answer named, where the table does not know better; nil: ask the table.
	next *target
	// hops counts how often the request was sent on in a row, pause is the back-off after the next failure.
	hops  int
	pause time.Duration
	// avoid holds nodes that could not be reached; only for a stream that the table does not know.
	avoid map[string]bool
	// unknown tells that an earlier try may have been applied.
	unknown bool
	// leave gives up the place in the parking; nil while there is none.
	leave func(result string)
	// held is what is traced of a request that cannot be answered at once.
	held held
}

func newExchange(g *Gateway, w http.ResponseWriter, r *http.Request, stream routing.Stream) *exchange {
	now := g.cfg.Now()
	x := &exchange{
		g: g, w: w, r: r, stream: stream,
		query: r.URL.RawQuery, header: forNode(r),
		begun: now, deadline: now.Add(g.cfg.Limits.ParkTimeout),
		pause: firstPause, avoid: map[string]bool{},
	}
	if r.Method == http.MethodGet {
		switch r.URL.Query().Get("live") {
		case "long-poll":
			x.mode = longPoll
		case "sse":
			x.mode = eventStream
		}
	}
	return x
}

// repeatable tells whether the request may be sent again although an earlier try may have been applied: every one but an
// append that a node cannot recognise as a repetition. A POST without a body can only close the stream.
func (x *exchange) repeatable() bool {
	return x.r.Method != http.MethodPost || x.r.Header.Get("Producer-Id") != "" || len(x.body) == 0
}

// fetch asks nodes until one of them answers for the stream, or returns the problem to answer with. It returns neither
// where a long-poll was held long enough.
func (x *exchange) fetch(ctx context.Context) (a *reply, p *durablestreams.Problem) {
	x.beginHeld()
	defer func() { x.endHeld(p) }()
	for {
		s := x.sight()
		x.noteHeld(s) //nolint:contextcheck // the span is the request's
		if s.target.address == "" {
			if p := x.wait(ctx, s, 0, s.reason); p != nil {
				return nil, p
			}
			continue
		}
		begun := x.g.cfg.Now()
		a := x.ask(ctx, s.target)
		if x.mode != plain {
			x.deadline = x.deadline.Add(x.g.cfg.Now().Sub(begun)) // it was held there, it did not wait here
		}
		x.g.metrics.asked.WithLabelValues(a.outcome.String()).Inc()
		reason := "node " + s.target.node + " does not take requests for the stream now"
		switch a.outcome {
		case answered:
			return a.reply, nil
		case sentOn:
			if x.follow(s.target, a) {
				continue
			}
			// The nodes disagree. What they say changes the table again and again, so its changes are no reason to
			// ask again at once.
			s.routeChanged, s.nodesChanged = nil, nil
		case unaware:
			if x.giveBack(s.target) {
				continue
			}
		case notTaken:
			x.hops = 0
		case unsent:
			reason = "node " + s.target.node + " cannot be reached"
			if x.elsewhere(s.target) {
				continue
			}
			if x.g.cfg.Now().Sub(x.begun) >= x.g.cfg.Limits.GiveBackAfter && x.giveBack(s.target) {
				// The owner may name the target again: that change is no reason to ask it again at once.
				s.routeChanged = nil
			}
		case broken:
			if errors.Is(a.err, errPollOver) {
				return nil, nil
			}
			if !x.repeatable() {
				return nil, outcomeUnknown("the node did not answer")
			}
			x.unknown = true
			reason = "node " + s.target.node + " did not answer"
		}
		if p := x.wait(ctx, s, x.pause, reason); p != nil {
			return nil, p
		}
	}
}

// sight says whom to ask next: the node that the last answer named, else whom the table names.
func (x *exchange) sight() sight {
	s := look(x.g.cfg.Table, x.stream, x.avoid)
	if x.next != nil {
		s.target, x.next = *x.next, nil
	}
	return s
}

// follow takes in where a node sent the request, and tells whether another node can be asked at once.
func (x *exchange) follow(asked target, a attempt) bool {
	x.hops++
	if !a.located {
		return false
	}
	x.g.cfg.Table.Hint(x.stream, a.moved)
	x.held.meets(a.moved.Transfer)
	route, known, _ := x.g.cfg.Table.Route(x.stream)
	if !known || route.UID != a.moved.UID {
		// The table will learn of it; this request needs not wait for that.
		x.next = &target{
			node: a.moved.Node, address: a.moved.Address,
			hint: routing.Hint{Epoch: a.moved.Epoch, Role: a.moved.Role},
		}
	}
	if x.hops > routing.MaxHops {
		x.hops, x.next = 0, nil
		return false
	}
	if x.next != nil {
		return x.next.address != ""
	}
	next := look(x.g.cfg.Table, x.stream, x.avoid).target
	return next.address != "" && next != asked
}

// giveBack lets requests go to the owner again, where the node that was asked is the target of a pending transfer and
// does nothing about it: it has not heard of it, or is gone, and so may be the register. A source that cannot complete
// serves again; one that is about to complete names the target again. It tells whether the owner is to be asked now.
func (x *exchange) giveBack(asked target) bool {
	route, known, _ := x.g.cfg.Table.Route(x.stream)
	if !known || asked.hint.Role != routing.RoleTarget || route.Epoch != asked.hint.Epoch || route.Target != asked.node {
		return false
	}
	return x.g.cfg.Table.Hint(x.stream, routing.Moved{UID: route.UID, Epoch: route.Epoch, Node: route.Owner, Role: routing.RoleOwner})
}

// elsewhere tells whether a stream that the table does not know can be asked for at another node than the one that could
// not be reached.
func (x *exchange) elsewhere(asked target) bool {
	x.avoid[asked.node] = true
	next := look(x.g.cfg.Table, x.stream, x.avoid).target
	return next.address != "" && !x.avoid[next.node] && next.hint == routing.Hint{}
}

// wait parks the request until the table says something else than in s, or for a pause where it is above 0. It returns
// the problem to answer with where there is nothing more to wait for.
func (x *exchange) wait(ctx context.Context, s sight, pause time.Duration, reason string) *durablestreams.Problem {
	if p := x.enterParking(); p != nil {
		return p
	}
	left := x.deadline.Sub(x.g.cfg.Now())
	if left <= 0 {
		return x.over(reason)
	}
	length := left
	if pause > 0 {
		length = min(pause, left)
		x.pause = min(2*x.pause, longestPause)
	}
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-s.routeChanged:
		x.pause = firstPause
		return nil
	case <-s.nodesChanged:
		return nil
	case <-timer.C:
		if pause == 0 {
			return x.over(reason)
		}
		return nil
	case <-ctx.Done():
		// Without an answer the server would say 200.
		x.leaveParking(parkedGone)
		return routing.UnavailableProblem("the connection ends")
	}
}

// over is the answer when the park time is over.
func (x *exchange) over(reason string) *durablestreams.Problem {
	x.leaveParking(parkedTimeout)
	x.g.metrics.refused.WithLabelValues("park_time").Inc()
	switch x.r.Method {
	case http.MethodGet, http.MethodHead:
	default:
		if x.unknown {
			return outcomeUnknown(reason)
		}
	}
	return routing.UnavailableProblem(reason)
}

func (x *exchange) enterParking() *durablestreams.Problem {
	if x.leave != nil {
		return nil
	}
	leave, err := x.g.parking.Enter(x.stream, int64(len(x.body)))
	if err != nil {
		limit := "parking"
		if errors.Is(err, routing.ErrStreamParkingFull) {
			limit = "stream_parking"
		}
		x.g.metrics.refused.WithLabelValues(limit).Inc()
		if x.unknown {
			return outcomeUnknown(err.Error())
		}
		return routing.FullProblem(err)
	}
	x.leave = func(result string) {
		leave()
		x.g.metrics.parked.WithLabelValues(result).Inc()
	}
	return nil
}

func (x *exchange) leaveParking(result string) {
	if x.leave != nil {
		x.leave(result)
		x.leave = nil
	}
}
