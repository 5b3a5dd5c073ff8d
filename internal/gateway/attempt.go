package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/streamshift/streamshift/internal/routing"
)

// outcome is what became of a request at one node.
type outcome int

const (
	// answered: the node answered for the stream.
	answered outcome = iota + 1
	// sentOn: the node promises not to have applied it, and names another one.
	sentOn
	// unaware: the node promises not to have applied it, and has not heard of the transfer to it.
	unaware
	// notTaken: the node promises not to have applied it.
	notTaken
	// unsent: there was no connection, so nothing was sent.
	unsent
	// broken: it may or may not be applied.
	broken
)

// String returns the outcome as metrics show it.
func (o outcome) String() string {
	switch o {
	case answered:
		return "answered"
	case sentOn:
		return "sent_on"
	case unaware:
		return "unaware"
	case notTaken:
		return "not_taken"
	case unsent:
		return "unsent"
	case broken:
		return "broken"
	}
	return "outcome_" + strconv.Itoa(int(o))
}

// attempt is the outcome of asking one node.
type attempt struct {
	outcome outcome
	// reply is what an answered one answered.
	reply *reply
	// moved is where the node says that the stream is, if located.
	moved   routing.Moved
	located bool
	// err is why a broken one broke.
	err error
}

var (
	errNoAnswer = errors.New("the node did not answer in time")
	errLeft     = errors.New("the stream has left the node, which did not answer")
	errPollOver = errors.New("the long-poll was held long enough")
)

// ask sends the request to one node and waits for its answer.
func (x *exchange) ask(ctx context.Context, t target) attempt {
	var connected atomic.Bool
	// The transport asks for another connection where a node that ends has said that it has not taken the request (GOAWAY): only
	// the last connection counts.
	ctx, cancel := context.WithCancelCause(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { connected.Store(false) },
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	}))
	replied := make(chan struct{})
	go x.guard(ctx, cancel, t, x.mode, replied)
	r, err := x.request(ctx, t)
	if err != nil {
		cancel(nil)
		return attempt{outcome: unsent, err: err}
	}
	response, err := x.g.cfg.Transport.RoundTrip(r)
	if err != nil {
		cause := context.Cause(ctx)
		cancel(nil)
		switch {
		case errors.Is(cause, errPollOver):
			return attempt{outcome: broken, err: errPollOver}
		case !connected.Load():
			return attempt{outcome: unsent, err: err}
		}
		return attempt{outcome: broken, err: err}
	}
	a := x.judge(response, cancel)
	if a.outcome == notTaken && a.located && a.moved.Node != t.node {
		// It knows who serves, and not where that is: it could not ask. The table knows.
		a.outcome = sentOn
	}
	switch {
	case a.reply == nil:
		_ = response.Body.Close()
		if errors.Is(context.Cause(ctx), errPollOver) {
			a.err = errPollOver
		}
		cancel(nil)
	case a.reply.rest == nil:
		_ = response.Body.Close()
		cancel(nil)
	default:
		close(replied) // from now on only a stream that leaves ends it
	}
	return a
}

// request builds what a node is sent.
func (x *exchange) request(ctx context.Context, t target) (*http.Request, error) {
	url := t.address + x.r.URL.EscapedPath()
	if x.query != "" {
		url += "?" + x.query
	}
	var body io.Reader = http.NoBody
	if len(x.body) > 0 {
		body = bytes.NewReader(x.body)
	}
	r, err := http.NewRequestWithContext(ctx, x.r.Method, url, body)
	if err != nil {
		return nil, err
	}
	r.Header = x.header.Clone()
	x.held.name(r.Header) //nolint:contextcheck // the span is the request's
	r.Host = x.r.Host
	if _, given := r.Header["User-Agent"]; !given {
		r.Header.Set("User-Agent", "") // else the transport adds its own
	}
	if t.hint.Epoch > 0 {
		r.Header.Set(routing.HeaderRouteEpoch, strconv.FormatInt(t.hint.Epoch, 10))
		r.Header.Set(routing.HeaderRouteRole, string(t.hint.Role))
	}
	if x.mode == longPoll {
		r.Header.Set(routing.HeaderHeld, x.g.cfg.Now().Sub(x.begun).String())
	}
	if x.hops > 0 {
		r.Header.Set(routing.HeaderHops, strconv.Itoa(x.hops))
	}
	return r, nil
}

// guard gives up on a node that does not answer: in time, or although the stream went to another node. A node answers
// what it has in hand before it gives a stream away; one that did not is hanging. After the node replied, which closes
// replied, only the latter counts. It may outlast the attempt for a moment, so it reads nothing of x that changes.
func (x *exchange) guard(ctx context.Context, cancel context.CancelCauseFunc, t target, as mode, replied <-chan struct{}) {
	limits := x.g.cfg.Limits
	timeout := time.NewTimer(limits.AnswerTimeout)
	defer timeout.Stop()
	over, cause := timeout.C, errNoAnswer
	var drained <-chan struct{}
	if as == longPoll {
		timeout.Reset(x.begun.Add(limits.LongPoll).Sub(x.g.cfg.Now()))
		cause, drained = errPollOver, x.g.draining.Done()
	}
	leaving := time.NewTimer(limits.LeftTimeout)
	leaving.Stop()
	defer leaving.Stop()
	var left <-chan time.Time
	for {
		route, known, changed := x.g.cfg.Table.Route(x.stream)
		switch {
		case !known || t.hint.Epoch == 0:
			changed = nil
		case left == nil && route.Epoch > t.hint.Epoch && route.Owner != t.node:
			leaving.Reset(limits.LeftTimeout)
			left = leaving.C
		}
		select {
		case <-ctx.Done():
			return
		case <-replied:
			replied, over, drained = nil, nil, nil
		case <-over:
			cancel(cause)
			return
		case <-drained:
			cancel(errPollOver)
			return
		case <-left:
			cancel(errLeft)
			return
		case <-changed:
		}
	}
}

// judge tells what a node's answer means.
func (x *exchange) judge(response *http.Response, cancel context.CancelCauseFunc) attempt {
	header := response.Header
	a := attempt{}
	a.moved, a.located = routing.ParseMoved(header)
	switch routing.Answer(header.Get(routing.HeaderAnswer)) {
	case routing.AnswerMoved, routing.AnswerElsewhere, routing.AnswerLoop:
		a.outcome = sentOn
		return a
	case routing.AnswerUnaware:
		a.outcome = unaware
		return a
	case routing.AnswerUnavailable, routing.AnswerFull:
		a.outcome = notTaken
		return a
	}
	switch response.StatusCode {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		// The protocol promises with Retry-After that nothing was applied.
		if header.Get("Retry-After") != "" {
			a.outcome = notTaken
			return a
		}
		if x.repeatable() {
			a.outcome, a.err = broken, errors.New("the node does not know the outcome")
			return a
		}
	}
	reply, err := x.receive(response, cancel)
	if err != nil {
		a.outcome, a.err = broken, err
		return a
	}
	a.outcome, a.reply = answered, reply
	return a
}
