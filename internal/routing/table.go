package routing

import (
	"maps"
	"sync"
)

// Route is what a gateway knows of one stream: the part of the register that says where requests go.
type Route struct {
	UID   string
	Epoch int64
	// Owner is the node that the register names; empty: not placed yet.
	Owner string
	// Target is the node that a pending transfer leads to; empty: no transfer is pending.
	Target string
	// Transfer is the UID of the transfer that is pending, or whose target has not opened the stream yet; empty: none, or not known. It
	// says nothing about where requests go.
	Transfer string
}

// Node returns where a request goes and what that node is to the stream: the target as soon as a transfer is pending,
// else the owner. The node is empty where the stream is not placed.
func (r Route) Node() (node string, role Role) {
	if r.Target != "" && r.Owner != "" && r.Target != r.Owner {
		return r.Target, RoleTarget
	}
	return r.Owner, RoleOwner
}

// hinted returns the route as it is after a node said that the stream is elsewhere. A hint about another object of the
// same name or from an older epoch changes nothing; one of the same epoch is later evidence than the route and is taken.
func (r Route) hinted(h Moved) (Route, bool) {
	if h.UID != r.UID || h.Epoch < r.Epoch || h.Node == "" {
		return r, false
	}
	next := Route{UID: r.UID, Epoch: h.Epoch, Owner: r.Owner}
	switch h.Role {
	case RoleTarget:
		next.Target, next.Transfer = h.Node, h.Transfer
	case RoleOwner:
		next.Owner = h.Node
	default:
		return r, false
	}
	return next, next != r
}

// Moved is what a node's answer says about where a stream is.
type Moved struct {
	UID     string
	Epoch   int64
	Node    string
	Role    Role
	Address string
	// Transfer is the UID of the transfer that took or takes the stream there; empty: none did, or it is not told.
	Transfer string
}

// NodeState is what a gateway knows of a node.
type NodeState struct {
	// Address is the base URL of the node's HTTP front.
	Address string
	// Ready tells that requests for streams that nobody knows may be sent there.
	Ready bool
}

// Table is a gateway's view of which node to ask for which stream. It is fed by views of the register and by what nodes
// answer. Every event costs the same, however many streams there are.
type Table struct {
	mu     sync.Mutex
	routes map[Stream]*routeEntry
	nodes  map[string]NodeState
	// arrivals is closed when a stream becomes known, nodesChanged when the address or readiness of a node changes.
	arrivals, nodesChanged chan struct{}
}

// routeEntry holds a route and who waits for its change.
type routeEntry struct {
	route Route
	// changed is made by the first one who waits.
	changed chan struct{}
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{
		routes:       map[Stream]*routeEntry{},
		nodes:        map[string]NodeState{},
		arrivals:     make(chan struct{}),
		nodesChanged: make(chan struct{}),
	}
}

// Apply takes in a view of the register. A view of an older epoch of the same object is ignored: a watch may lag behind
// what a node has told already.
func (t *Table) Apply(stream Stream, view Route) {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry, known := t.routes[stream]
	if !known {
		t.routes[stream] = &routeEntry{route: view}
		close(t.arrivals)
		t.arrivals = make(chan struct{})
		return
	}
	if view.UID == entry.route.UID && view.Epoch < entry.route.Epoch {
		return
	}
	entry.set(view)
}

// Hint takes in what a node answered. Streams that no register view has named yet are not remembered, so that requests
// cannot fill the table. The address of a node that the table knows none of is remembered. It returns whether the route
// has changed.
func (t *Table) Hint(stream Stream, h Moved) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry, known := t.routes[stream]
	if !known {
		return false
	}
	if _, known := t.nodes[h.Node]; !known && h.Address != "" {
		t.nodes[h.Node] = NodeState{Address: h.Address}
		t.wakeNodes()
	}
	next, ok := entry.route.hinted(h)
	if ok {
		entry.set(next)
	}
	return ok
}

// Remove forgets a stream whose object is gone.
func (t *Table) Remove(stream Stream) {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry, known := t.routes[stream]
	if !known {
		return
	}
	delete(t.routes, stream)
	entry.wake()
}

// Route returns the route of a stream. The channel is closed when the route changes; for a stream that is not known,
// when any stream becomes known.
func (t *Table) Route(stream Stream) (route Route, known bool, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	entry, known := t.routes[stream]
	if !known {
		return Route{}, false, t.arrivals
	}
	if entry.changed == nil {
		entry.changed = make(chan struct{})
	}
	return entry.route, true, entry.changed
}

// Len returns how many streams and nodes are known.
func (t *Table) Len() (streams, nodes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.routes), len(t.nodes)
}

// SetNode takes in the state of a node.
func (t *Table) SetNode(name string, state NodeState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old, known := t.nodes[name]; known && old == state {
		return
	}
	t.nodes[name] = state
	t.wakeNodes()
}

// RemoveNode forgets a node.
func (t *Table) RemoveNode(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, known := t.nodes[name]; !known {
		return
	}
	delete(t.nodes, name)
	t.wakeNodes()
}

// Nodes returns the state of every node by name, and a channel that is closed when one of them changes.
func (t *Table) Nodes() (nodes map[string]NodeState, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.nodes), t.nodesChanged
}

// Address returns the base URL of a node, or "" where it is not known, and a channel that is closed when any node
// changes.
func (t *Table) Address(node string) (address string, changed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.nodes[node].Address, t.nodesChanged
}

func (t *Table) wakeNodes() {
	close(t.nodesChanged)
	t.nodesChanged = make(chan struct{})
}

func (e *routeEntry) set(route Route) {
	before := e.route
	e.route = route
	before.Transfer = route.Transfer // which concerns nobody who waits
	if before != route {
		e.wake()
	}
}

func (e *routeEntry) wake() {
	if e.changed != nil {
		close(e.changed)
		e.changed = nil
	}
}
