// Package routingtest has a cluster in one process for tests of routing and of the gateway: real fronts of nodes on
// loopback, over real sessions on one store in memory, whose register a test scripts step by step. It is for tests only.
package routingtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/engine/store"
	"github.com/streamshift/streamshift/internal/routing"
)

// Register is what the API server holds of one stream.
type Register struct {
	UID      string
	Epoch    int64
	Owner    string
	Pending  *routing.Pending
	Settings durablestreams.Settings
	// Tail is the number of the last closing segment.
	Tail engine.SegmentNumber
	// Created streams exist for clients without a PUT.
	Created bool
}

// Options are what a test sets of a cluster.
type Options struct {
	ParkTimeout, GiveBackAfter time.Duration
	Parking                    routing.ParkingLimits
	// Limits of the protocol; the zero value: its defaults.
	Limits durablestreams.Limits
	// BodiesBytes bounds what a node holds of bodies; 0: 256 MiB.
	BodiesBytes int64
	// Now is every node's clock; nil: time.Now. Waits are real all the same.
	Now func() time.Time
	// PlaceOn is where streams that clients create are placed; empty: nowhere, until Place is called.
	PlaceOn string
}

// Cluster is a register and the nodes that act on it.
type Cluster struct {
	t       testing.TB
	options Options
	store   store.Store

	mu        sync.Mutex
	registers map[routing.Stream]*Register
	nodes     map[string]*Node
	tables    []*routing.Table
	serial    int
	// located counts questions to the API server; away makes it fail.
	located int
	away    bool
}

// New returns an empty cluster, which ends with the test.
func New(tb testing.TB, options Options) *Cluster {
	tb.Helper()
	s, err := store.Open(context.Background(), "mem://")
	if err != nil {
		tb.Fatalf("opening a store: %v", err)
	}
	if options.Limits == (durablestreams.Limits{}) {
		options.Limits = durablestreams.DefaultLimits()
	}
	if options.BodiesBytes == 0 {
		options.BodiesBytes = 256 << 20
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	return &Cluster{
		t: tb, options: options, store: s,
		registers: map[routing.Stream]*Register{}, nodes: map[string]*Node{},
	}
}

// Feed lets a gateway's table follow the register and the nodes.
func (c *Cluster) Feed(table *routing.Table) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tables = append(c.tables, table)
	for stream, r := range c.registers {
		table.Apply(stream, r.route())
	}
	for name, n := range c.nodes {
		table.SetNode(name, routing.NodeState{Address: n.URL, Ready: true})
	}
}

// Unfeed lets no table follow any more: they lag behind from now on.
func (c *Cluster) Unfeed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tables = nil
}

// Located returns how often nodes have asked the API server.
func (c *Cluster) Located() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.located
}

// SetAway makes the API server fail, or answer again.
func (c *Cluster) SetAway(away bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.away = away
}

// Register returns a copy of a stream's register; ok is false where there is none.
func (c *Cluster) Register(stream routing.Stream) (r Register, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.registers[stream]; ok {
		return *r, true
	}
	return Register{}, false
}

// change applies a step to a register and tells everybody.
func (c *Cluster) change(stream routing.Stream, step func(r *Register)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changeLocked(stream, step)
}

func (c *Cluster) changeLocked(stream routing.Stream, step func(r *Register)) {
	r, ok := c.registers[stream]
	if !ok {
		c.t.Errorf("the script changes stream %s, which does not exist", stream)
		return
	}
	step(r)
	for _, table := range c.tables {
		table.Apply(stream, r.route())
	}
	for _, n := range c.nodes {
		n.refresh(stream, r)
	}
}

func (r *Register) route() routing.Route {
	route := routing.Route{UID: r.UID, Epoch: r.Epoch, Owner: r.Owner}
	if r.Pending != nil {
		route.Target = r.Pending.Target
	}
	return route
}

// Make makes a stream that exists for clients at once, not placed yet.
func (c *Cluster) Make(stream routing.Stream, settings durablestreams.Settings) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.make(stream, settings, true)
}

func (c *Cluster) make(stream routing.Stream, settings durablestreams.Settings, created bool) {
	if _, ok := c.registers[stream]; ok {
		return
	}
	c.serial++
	c.registers[stream] = &Register{UID: fmt.Sprintf("uid-%d", c.serial), Settings: settings, Created: created}
	c.changeLocked(stream, func(*Register) {})
}

// Place places a stream at its first epoch, without opening it.
func (c *Cluster) Place(stream routing.Stream, node string) {
	c.change(stream, func(r *Register) { r.Owner, r.Epoch = node, 1 })
}

// Accept writes the pending record of a transfer.
func (c *Cluster) Accept(stream routing.Stream, target string) {
	c.change(stream, func(r *Register) {
		r.Pending = &routing.Pending{UID: fmt.Sprintf("transfer-%d", r.Epoch), Source: r.Owner, Target: target}
	})
}

// Withdraw removes the pending record.
func (c *Cluster) Withdraw(stream routing.Stream) {
	c.change(stream, func(r *Register) { r.Pending = nil })
}

// Complete re-points the stream to the target of its pending record.
func (c *Cluster) Complete(stream routing.Stream) {
	c.change(stream, func(r *Register) {
		r.Owner, r.Epoch, r.Pending = r.Pending.Target, r.Epoch+1, nil
	})
}

// Open opens the session of a stream at its owner, at the register's epoch.
func (c *Cluster) Open(stream routing.Stream) {
	r, ok := c.Register(stream)
	if !ok || r.Owner == "" {
		c.t.Errorf("the script opens stream %s, which has no owner", stream)
		return
	}
	session, err := engine.Open(context.Background(), c.store, engine.Config{
		Stream: r.UID, Epoch: engine.Epoch(r.Epoch), Session: fmt.Sprintf("session-%x", rand.Uint64()), //nolint:gosec // unique, not secret
		Tail: r.Tail, Created: r.Created, Log: logr.Discard(),
	})
	if err != nil {
		c.t.Errorf("opening %s at %s: %v", stream, r.Owner, err)
		return
	}
	c.mu.Lock()
	n := c.nodes[r.Owner]
	n.sessions[stream] = session
	n.refresh(stream, c.registers[stream])
	c.mu.Unlock()
}

// Close closes the session of a stream at its owner.
func (c *Cluster) Close(stream routing.Stream) {
	r, _ := c.Register(stream)
	c.mu.Lock()
	n := c.nodes[r.Owner]
	session := n.sessions[stream]
	delete(n.sessions, stream)
	n.refresh(stream, c.registers[stream])
	c.mu.Unlock()
	if session == nil {
		c.t.Errorf("the script closes stream %s, which is not open", stream)
		return
	}
	closing, err := session.Close(context.Background())
	if err != nil {
		c.t.Errorf("closing %s at %s: %v", stream, r.Owner, err)
		return
	}
	c.change(stream, func(r *Register) { r.Tail = closing.Tail })
}

// Start makes a stream, places it and opens it.
func (c *Cluster) Start(stream routing.Stream, settings durablestreams.Settings, node string) {
	c.Make(stream, settings)
	c.Place(stream, node)
	c.Open(stream)
}

// Transfer takes every step of a transfer.
func (c *Cluster) Transfer(stream routing.Stream, target string) {
	c.Accept(stream, target)
	c.Close(stream)
	c.Complete(stream)
	c.Open(stream)
}

// TakeOver re-points a stream without its source having closed it.
func (c *Cluster) TakeOver(stream routing.Stream, target string) {
	c.Accept(stream, target)
	c.Complete(stream)
	c.Open(stream)
}
