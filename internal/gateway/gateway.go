package gateway

import (
	"context"
	"maps"
	"net/http"
	"time"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/routing"
)

// Gateway is the HTTP handler of clients' requests.
type Gateway struct {
	cfg     Config
	parking *routing.Parking
	bodies  *durablestreams.Bodies
	// replies bounds the bytes of answers that are held back.
	replies     *room
	connections *routing.Connections
	metrics     *Metrics

	draining context.Context
	drain    context.CancelFunc
}

// New returns a gateway.
func New(cfg Config) *Gateway {
	l := cfg.Limits
	g := &Gateway{
		cfg:     cfg,
		parking: routing.NewParking(l.Parking),
		bodies:  durablestreams.NewBodies(l.BodyBytes, l.BodiesBytes, l.BodyTimeout, cfg.Now),

		connections: routing.NewConnections(l.Connections),
	}
	g.draining, g.drain = context.WithCancel(context.Background())
	g.metrics = newMetrics(g)
	g.replies = newRoom(l.RepliesBytes, stalledAfter, cfg.Now, g.metrics.cutOff.Inc)
	return g
}

// Metrics returns what the gateway counts, for a registry.
func (g *Gateway) Metrics() *Metrics { return g.metrics }

// Parked returns how many requests wait now.
func (g *Gateway) Parked() int {
	requests, _ := g.parking.Count()
	return requests
}

// Drain ends what would last: event streams end behind a control event, long-polls answer that nothing came. All other
// requests go on. It returns at once; the server's Shutdown waits for them.
func (g *Gateway) Drain() { g.drain() }

// ServeHTTP answers one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	stream, err := routing.ParsePath(r.URL.Path, g.cfg.DefaultNamespace)
	if err != nil {
		g.refuse(w, routing.PathProblem(err))
		return
	}
	switch r.Method {
	case http.MethodOptions: // browsers ask so before they send a token
		durablestreams.ServeOptions(w)
		return
	case http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodPost, http.MethodPut:
	default:
		g.refuse(w, durablestreams.MethodNotAllowed(r.Method))
		return
	}
	if !g.admit(w, r, stream) {
		return
	}
	x := newExchange(g, w, r, stream)
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		body, release, err := g.bodies.Read(w, r)
		if err != nil {
			g.metrics.refused.WithLabelValues("body").Inc()
			durablestreams.WriteProblem(w, routing.BodyProblem(err))
			return
		}
		defer release()
		x.body = body
	}
	defer x.leaveParking(parkedOther)
	ctx := r.Context()
	switch x.mode {
	case plain:
		x.answer(x.fetch(ctx))
	case longPoll:
		x.answer(x.poll(ctx))
	case eventStream:
		x.events(ctx)
	}
}

// answer passes on what a node answered, or the problem that came instead.
func (x *exchange) answer(a *reply, p *durablestreams.Problem) {
	x.leaveParking(parkedServed)
	if p != nil {
		durablestreams.WriteProblem(x.w, p)
		return
	}
	defer a.end()
	if x.unknown && x.r.Method == http.MethodDelete && a.status == http.StatusNotFound {
		// An earlier try may have deleted it and lost the answer; gone it is.
		durablestreams.SetBaseHeaders(x.w.Header())
		x.w.WriteHeader(http.StatusNoContent)
		return
	}
	if err := x.write(a); err != nil && x.r.Context().Err() == nil {
		// The status is out and the rest is not: only a broken connection says so.
		panic(http.ErrAbortHandler)
	}
}

// write sends a reply to the client.
func (x *exchange) write(a *reply) error {
	control := http.NewResponseController(x.w)
	x.extend(control)
	defer unlimit(control)
	maps.Copy(x.w.Header(), endToEnd(a.header))
	x.w.WriteHeader(a.status)
	if len(a.body) > 0 {
		sent := x.sending(control, a.held)
		_, err := x.w.Write(a.body)
		sent()
		if err != nil {
			return err
		}
	}
	if a.rest == nil {
		return nil
	}
	return copyRest(x.w, a.rest, func() { x.extend(control) })
}

// extend bounds how long the client may take to accept what is written next. A writer without deadlines (a test's
// recorder) has no slow peer.
func (x *exchange) extend(control *http.ResponseController) {
	_ = control.SetWriteDeadline(x.g.cfg.Now().Add(x.g.cfg.Limits.WriteTimeout))
}

// sending notes that an answer which holds room is being sent to the client, who is cut off where it stalls and others lack
// the room.
func (x *exchange) sending(control *http.ResponseController, held int64) (sent func()) {
	return x.g.replies.Sending(held, func() { _ = control.SetWriteDeadline(x.g.cfg.Now()) })
}

// unlimit takes the bound of extend away. It must not stay while nothing is written: over HTTP/2 it ends the request when
// it is reached.
func unlimit(control *http.ResponseController) {
	_ = control.SetWriteDeadline(time.Time{})
}

// outcomeUnknown is the answer where a request may or may not be applied and must not be repeated here.
func outcomeUnknown(why string) *durablestreams.Problem {
	return &durablestreams.Problem{
		Type: durablestreams.ProblemOutcomeUnknown, Status: http.StatusServiceUnavailable,
		Detail: "The request may or may not be applied, now or later: " + why + ".",
	}
}
