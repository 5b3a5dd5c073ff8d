package gateway

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"time"
)

const (
	// shortestEventStream is how long an event stream is held at least. Clients take several that end at once for the
	// end of the stream.
	shortestEventStream = 1500 * time.Millisecond
	// lastLegOfEvents: when a node ends an event stream this close to its time, it is over for the client too.
	lastLegOfEvents = 10 * time.Second
)

var (
	errEventsOver = errors.New("the event stream lasted long enough")
	errDraining   = errors.New("the gateway ends")
)

// eventsEnd is why an event stream of a node ended.
type eventsEnd int

const (
	// endNode: the node ended it or died; it can be carried on.
	endNode eventsEnd = iota + 1
	// endStream: the stream is closed and everything was sent.
	endStream
	// endTime: it lasted long enough, or the gateway ends.
	endTime
	// endClient: the client is gone or too slow.
	endClient
)

// relay is one event stream of a client, over however many nodes.
type relay struct {
	x       *exchange
	control *http.ResponseController
	// last is the last control event that the client has seen.
	last control
}

// events answers a request for an event stream. The client gets whole groups only, and a normal end behind one of them;
// when the node ends or dies, the stream is carried on at the next one from where the client is.
func (x *exchange) events(ctx context.Context) {
	a, p := x.fetch(ctx)
	if p != nil || !isEvents(a.status, a.header) {
		x.answer(a, p)
		return
	}
	x.leaveParking(parkedServed)
	ctx, cancel := context.WithTimeoutCause(ctx, x.g.cfg.Limits.EventStream, errEventsOver)
	defer cancel()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	//nolint:contextcheck // the gateway ends on its own
	undrained := context.AfterFunc(x.g.draining, func() { stop(errDraining) })
	defer undrained()

	e := &relay{x: x, control: http.NewResponseController(x.w)}
	header := x.w.Header()
	maps.Copy(header, endToEnd(a.header))
	header.Del("Content-Length")
	x.w.WriteHeader(http.StatusOK)
	_ = e.control.Flush() // a client that is gone is noticed with the first group
	switch e.run(ctx, a) {
	case endNode, endTime:
		e.hold()
	case endStream, endClient:
	}
}

// run passes on the event streams of one node after the other.
func (e *relay) run(ctx context.Context, a *reply) eventsEnd {
	x := e.x
	for {
		end := e.pass(ctx, a)
		a.end()
		if end != endNode || x.g.cfg.Now().Sub(x.begun) > x.g.cfg.Limits.EventStream-lastLegOfEvents {
			return end
		}
		if e.last.Offset != "" {
			query := x.r.URL.Query()
			query.Set("offset", e.last.Offset)
			if e.last.Cursor != "" {
				query.Set("cursor", e.last.Cursor)
			}
			x.query = query.Encode()
		}
		x.deadline = x.g.cfg.Now().Add(x.g.cfg.Limits.ParkTimeout)
		next, p := x.fetch(ctx)
		x.leaveParking(parkedServed)
		if p != nil {
			return endNode
		}
		if !isEvents(next.status, next.header) { // deleted, for example: the client's next request will tell it
			next.end()
			return endNode
		}
		x.g.metrics.carriedOn.Inc()
		a = next
	}
}

// pass passes on the groups of one node until its event stream ends.
func (e *relay) pass(ctx context.Context, a *reply) eventsEnd {
	x := e.x
	stop := context.AfterFunc(ctx, func() { a.cancel(context.Cause(ctx)) })
	defer stop()
	groups := newGroupReader(a.rest, x.g.cfg.Limits.GroupBytes, x.g.replies)
	defer groups.end()
	for {
		group, c, err := groups.next(ctx)
		if err != nil {
			return e.why(ctx, err)
		}
		if err := e.send(group, groups.held); err != nil {
			return endClient
		}
		e.last = c
		if c.Closed {
			return endStream
		}
	}
}

// send has the client take a group, which holds so much room.
func (e *relay) send(group []byte, held int64) error {
	e.x.extend(e.control)
	defer unlimit(e.control)
	sent := e.x.sending(e.control, held)
	defer sent()
	if _, err := e.x.w.Write(group); err != nil {
		return err
	}
	return e.control.Flush()
}

// why tells what the end of a node's event stream means.
func (e *relay) why(ctx context.Context, err error) eventsEnd {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(err, errGroupTooLarge):
		e.x.g.cfg.Log.Info("Ending an event stream: a group is beyond its limit", "stream", e.x.stream.String())
		return endTime
	case cause == nil:
		return endNode
	case errors.Is(cause, errEventsOver), errors.Is(cause, errDraining):
		return endTime
	}
	return endClient
}

// hold keeps an event stream open that would end too soon.
func (e *relay) hold() {
	left := shortestEventStream - e.x.g.cfg.Now().Sub(e.x.begun)
	if left <= 0 {
		return
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.x.r.Context().Done():
	}
}
