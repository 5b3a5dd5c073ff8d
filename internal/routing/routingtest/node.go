package routingtest

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/routing"
)

// Node is one node of a cluster: a front on loopback, and its own view of the streams that it has a part in.
type Node struct {
	Name  string
	URL   string
	Front *routing.Node

	c       *Cluster
	address string
	// listener and server are those of the last Serve.
	listener net.Listener
	server   *http.Server
	// sessions and views are guarded by the cluster's mutex.
	sessions map[routing.Stream]*engine.Session
	views    map[routing.Stream]*view
	// lagging: the views do not follow the register.
	lagging bool
}

// view is what a node knows of a stream.
type view struct {
	situation routing.Situation
	known     bool
	changed   chan struct{}
}

var _ routing.Directory = &Node{}

// AddNode starts a node.
func (c *Cluster) AddNode(name string) *Node {
	c.t.Helper()
	n := &Node{Name: name, c: c, address: "127.0.0.1:0", sessions: map[routing.Stream]*engine.Session{}, views: map[routing.Stream]*view{}}
	protocol, err := durablestreams.New(durablestreams.Config{
		Limits: c.options.Limits, Clock: c.options.Now, Jitter: rand.Int64N, Log: logr.Discard(),
	})
	if err != nil {
		c.t.Fatalf("making the protocol's handler: %v", err)
	}
	n.Front = routing.NewNode(routing.NodeConfig{
		Node: name, DefaultNamespace: "default", Directory: n, Protocol: protocol,
		ParkTimeout: c.options.ParkTimeout, GiveBackAfter: c.options.GiveBackAfter, Parking: c.options.Parking,
		Bodies: durablestreams.NewBodies(c.options.Limits.BodyBytes, c.options.BodiesBytes, time.Minute, time.Now),
		Now:    c.options.Now, Log: logr.Discard(),
	})
	n.Serve(n.Front)
	c.t.Cleanup(n.Kill)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nodes[name] = n
	for _, table := range c.tables {
		table.SetNode(name, routing.NodeState{Address: n.URL, Ready: true})
	}
	return n
}

// Serve listens at the node's address, which it keeps, with any handler in place of the node's front.
func (n *Node) Serve(handler http.Handler) {
	n.c.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", n.address)
	if err != nil {
		n.c.t.Fatalf("listening: %v", err)
	}
	n.address = listener.Addr().String()
	n.URL = "http://" + n.address
	server := routing.NewServer(handler)
	n.listener, n.server = listener, server
	go func() { _ = server.Serve(listener) }()
}

// Cut breaks every connection and listens no longer. The sessions stay.
func (n *Node) Cut() {
	_ = n.listener.Close() // the server may not have begun with it
	_ = n.server.Close()
}

// Kill cuts the node off and ends its sessions without a word.
func (n *Node) Kill() {
	n.Cut()
	n.c.mu.Lock()
	sessions := n.sessions
	n.sessions = map[routing.Stream]*engine.Session{}
	for stream := range sessions {
		n.refresh(stream, n.c.registers[stream])
	}
	n.c.mu.Unlock()
	for _, session := range sessions {
		session.Abandon()
	}
}

// SetLagging stops the node's views from following the register, or lets them catch up.
func (n *Node) SetLagging(lagging bool) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.lagging = lagging
	if !lagging {
		for stream, r := range n.c.registers {
			n.refresh(stream, r)
		}
	}
}

// refresh takes the register, and what this node has open, into the node's view. The cluster's mutex is held. A node has
// a part in the streams that it owns or is the target of.
func (n *Node) refresh(stream routing.Stream, r *Register) {
	if n.lagging {
		return
	}
	v := n.view(stream)
	next := view{changed: make(chan struct{})}
	if r != nil && (r.Owner == n.Name || r.Pending != nil && r.Pending.Target == n.Name) {
		next.known = true
		next.situation = routing.Situation{UID: r.UID, Epoch: r.Epoch, Owner: r.Owner, Pending: r.Pending, Settings: r.Settings}
		if session := n.sessions[stream]; session != nil && r.Owner == n.Name {
			next.situation.Log = session
		}
	}
	close(v.changed)
	*v = next
}

func (n *Node) view(stream routing.Stream) *view {
	v, ok := n.views[stream]
	if !ok {
		v = &view{changed: make(chan struct{})}
		n.views[stream] = v
	}
	return v
}

// Situation implements routing.Directory.
func (n *Node) Situation(stream routing.Stream) (routing.Situation, bool, <-chan struct{}) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	v := n.view(stream)
	return v.situation, v.known, v.changed
}

// errAway is what the API server answers while it is away.
var errAway = errors.New("the API server is away")

// Locate implements routing.Directory.
func (n *Node) Locate(_ context.Context, stream routing.Stream) (routing.Situation, error) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	n.c.located++
	if n.c.away {
		return routing.Situation{}, errAway
	}
	r, ok := n.c.registers[stream]
	if !ok {
		return routing.Situation{}, routing.ErrNotFound
	}
	return routing.Situation{UID: r.UID, Epoch: r.Epoch, Owner: r.Owner, Pending: r.Pending, Settings: r.Settings}, nil
}

// Address implements routing.Directory.
func (n *Node) Address(_ context.Context, node string) (string, error) {
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	if other, ok := n.c.nodes[node]; ok {
		return other.URL, nil
	}
	return "", errors.New("no such node")
}

// Create implements routing.Directory.
func (n *Node) Create(_ context.Context, stream routing.Stream, settings durablestreams.Settings) error {
	n.c.mu.Lock()
	if n.c.away {
		n.c.mu.Unlock()
		return errAway
	}
	_, existed := n.c.registers[stream]
	n.c.make(stream, settings, false)
	n.c.mu.Unlock()
	if node := n.c.options.PlaceOn; !existed && node != "" {
		n.c.Place(stream, node)
		n.c.Open(stream) //nolint:contextcheck // the session outlives the request
	}
	return nil
}

// Delete implements routing.Directory.
func (n *Node) Delete(ctx context.Context, stream routing.Stream, uid string) error {
	n.c.mu.Lock()
	r, session := n.c.registers[stream], n.sessions[stream]
	n.c.mu.Unlock()
	switch {
	case r == nil || r.UID != uid:
		return routing.ErrNotFound
	case session == nil:
		return engine.ErrSessionClosed
	}
	if err := session.Delete(ctx); err != nil && !errors.Is(err, engine.ErrStreamDeleted) {
		return err
	}
	n.c.mu.Lock()
	defer n.c.mu.Unlock()
	delete(n.c.registers, stream)
	delete(n.sessions, stream)
	for _, other := range n.c.nodes {
		other.refresh(stream, nil)
	}
	for _, table := range n.c.tables {
		table.Remove(stream)
	}
	return nil
}
