package routing

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/tracing"
)

const (
	// DefaultParkTimeout is how long a request waits in all until its stream can be served.
	DefaultParkTimeout = 10 * time.Second
	// GiveBackAfter is how long requests wait at the target of a pending transfer before they go back to the source. A
	// source that cannot complete, since the register is out of its reach, serves again by then.
	GiveBackAfter = 6 * time.Second
	// unplacedPause is how long a request waits before it asks again where a stream was placed: the placement on another
	// node changes nothing in this node's view, so no event tells of it.
	unplacedPause = 100 * time.Millisecond
)

// NodeConfig is what a node's front is made of.
type NodeConfig struct {
	// Node is the name of this node.
	Node string
	// DefaultNamespace is the namespace of streams whose URL names none.
	DefaultNamespace string
	Directory        Directory
	Protocol         *durablestreams.Handler
	// ParkTimeout is how long a request waits in all; 0: DefaultParkTimeout.
	ParkTimeout time.Duration
	// GiveBackAfter is how long a request waits for a transfer to this node of which the node has not heard; 0: GiveBackAfter.
	GiveBackAfter time.Duration
	// Parking bounds what waits; the zero value: DefaultParkingLimits.
	Parking ParkingLimits
	// Connections bounds the connections; 0: DefaultConnections.
	Connections int
	// Bodies reads and bounds the bodies of requests that are about to wait. It admits at least what the protocol does.
	Bodies *durablestreams.Bodies
	// Now is the clock that Protocol has, too: a long-poll's time begins when the request arrives here.
	Now func() time.Time
	Log logr.Logger
	// Tracer records spans; nil: none.
	Tracer *tracing.Tracer
}

// Node is the HTTP front of a node: it serves the streams that the node has open, parks requests for those that it is
// about to open, and sends all others on.
type Node struct {
	cfg         NodeConfig
	parking     *Parking
	connections *Connections
	metrics     *Metrics
}

// NewNode returns the front of a node.
func NewNode(cfg NodeConfig) *Node {
	if cfg.ParkTimeout == 0 {
		cfg.ParkTimeout = DefaultParkTimeout
	}
	if cfg.GiveBackAfter == 0 {
		cfg.GiveBackAfter = GiveBackAfter
	}
	if cfg.Parking == (ParkingLimits{}) {
		cfg.Parking = DefaultParkingLimits()
	}
	parking := NewParking(cfg.Parking)
	connections := NewConnections(cfg.Connections)
	return &Node{cfg: cfg, parking: parking, connections: connections, metrics: newMetrics(parking, connections, cfg.Bodies, cfg.Protocol)}
}

// Connections bounds the connections of the server that serves the node.
func (n *Node) Connections() *Connections { return n.connections }

// Metrics returns what the front counts, for a registry.
func (n *Node) Metrics() *Metrics { return n.metrics }

// Parked returns how many requests wait now.
func (n *Node) Parked() int {
	requests, _ := n.parking.Count()
	return requests
}

// request is one request on its way through the front.
type request struct {
	w      http.ResponseWriter
	r      *http.Request
	stream Stream
	hint   Hint
	// create is what a PUT asks for; nil for every other method. It holds the body of the PUT.
	create *durablestreams.Create
	// made tells that the Stream object was made for this request.
	made bool
	// deadline is when the park time is over, giveBack when the request goes back to the source of a transfer that this
	// node has not heard of; time spent in the protocol does not count.
	deadline, giveBack time.Time
	// leave gives up the place in the parking, with the result; nil while the request has none.
	leave func(result string)
	// transfer is the UID of the transfer that the request waits for; empty: for none.
	transfer string
	// release gives back the room of a body that was read before waiting.
	release func()
}

// ServeHTTP answers one request.
func (n *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	stream, err := ParsePath(r.URL.Path, n.cfg.DefaultNamespace)
	if err != nil {
		durablestreams.WriteProblem(w, PathProblem(err))
		return
	}
	arrived := n.cfg.Now()
	ctx := durablestreams.WithArrival(r.Context(), arrived.Add(-ParseHeld(r.Header)))
	q := &request{
		w: w, r: r.WithContext(ctx), stream: stream, hint: ParseHint(r.Header),
		deadline: arrived.Add(n.cfg.ParkTimeout), giveBack: arrived.Add(n.cfg.GiveBackAfter),
		release: func() {},
	}
	switch r.Method {
	case http.MethodOptions:
		durablestreams.ServeOptions(w)
		return
	case http.MethodGet, http.MethodHead, http.MethodDelete, http.MethodPost:
	case http.MethodPut:
		create, problem := n.cfg.Protocol.ParseCreate(w, r)
		if problem != nil {
			durablestreams.WriteProblem(w, problem)
			return
		}
		defer create.Release()
		q.create = create
	default:
		durablestreams.WriteProblem(w, durablestreams.MethodNotAllowed(r.Method))
		return
	}
	n.route(ctx, q)
	q.leaveParking(parkedOther)
	q.release()
}

// route looks, decides and acts until the request is answered. After an act that did not answer it, the request waits
// for a change of what the decision was made from.
func (n *Node) route(ctx context.Context, q *request) {
	for {
		v, err := n.look(ctx, q)
		if err != nil {
			if !n.missing(ctx, q, err) {
				return
			}
			continue
		}
		if v.unaware && !n.cfg.Now().Before(q.giveBack) {
			q.leaveParking(parkedSentOn)
			n.refuse(q, "unavailable", unawareProblem())
			return
		}
		d := Decide(n.cfg.Node, v.situation)
		switch d.Act {
		case Serve:
			if n.serve(ctx, q, v.situation) {
				return
			}
			d.Reason = "the session of the stream has ended"
		case Redirect, Conflict:
			n.sendOn(ctx, q, v.situation, d)
			return
		case Park:
		}
		if !n.wait(ctx, q, v, d.Reason) {
			return
		}
	}
}

// refuse answers a request at a limit.
func (n *Node) refuse(q *request, limit string, p *durablestreams.Problem) {
	n.metrics.refused.WithLabelValues(limit).Inc()
	durablestreams.WriteProblem(q.w, p)
}
