// Package slots counts the slots that are taken on each node: streams that the node owns, and pending transfers to it.
// It counts from the watch and from the manager's own writes that the watch has not delivered yet, in constant work per
// event. It decides nothing.
package slots

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
)

// Usage of a node's slots.
type Usage struct {
	// Owned streams, pending transfers to the node, and steps of this process to either effect that are under way.
	Owned, Inbound, Reserved int
}

// Taken is the number of slots that are not free.
func (u Usage) Taken() int { return u.Owned + u.Inbound + u.Reserved }

// Ledger is safe for concurrent use.
type Ledger struct {
	mu       sync.Mutex
	streams  map[types.UID]*v1alpha1.Stream
	reserved map[types.UID]string
	usage    map[string]Usage
}

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{streams: map[types.UID]*v1alpha1.Stream{}, reserved: map[types.UID]string{}, usage: map[string]Usage{}}
}

// Usage returns how many slots of a node are taken.
func (l *Ledger) Usage(node string) Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.usage[node]
}

// Owners returns the nodes that own streams, in any order.
func (l *Ledger) Owners() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var owners []string
	for node, usage := range l.usage {
		if usage.Owned > 0 {
			owners = append(owners, node)
		}
	}
	return owners
}

// Reserve takes a slot of the node for a step on the stream that is about to be proposed, unless all are taken. It
// holds until Release.
func (l *Ledger) Reserve(stream types.UID, node string, slots int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.usage[node].Taken() >= slots {
		return false
	}
	if _, twice := l.reserved[stream]; twice {
		return false
	}
	l.reserved[stream] = node
	l.add(node, Usage{Reserved: 1})
	return true
}

// Release ends a reservation. Where the step was taken, Observe its result before.
func (l *Ledger) Release(stream types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if node, found := l.reserved[stream]; found {
		delete(l.reserved, stream)
		l.add(node, Usage{Reserved: -1})
	}
}

// Observe counts a stream as it was delivered by the watch or returned by an own write. An older version of a stream
// than the one counted is ignored. The stream must not be changed afterwards.
func (l *Ledger) Observe(stream *v1alpha1.Stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.streams[stream.UID]
	if known != nil && register.Newer(known, stream) {
		return
	}
	l.streams[stream.UID] = stream
	l.replace(known, stream)
}

// Forget stops counting a stream that is gone.
func (l *Ledger) Forget(stream types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.streams[stream]
	delete(l.streams, stream)
	l.replace(known, nil)
}

func (l *Ledger) replace(old, next *v1alpha1.Stream) {
	oldOwner, oldTarget := Places(old)
	owner, target := Places(next)
	if oldOwner != owner {
		l.add(oldOwner, Usage{Owned: -1})
		l.add(owner, Usage{Owned: 1})
	}
	if oldTarget != target {
		l.add(oldTarget, Usage{Inbound: -1})
		l.add(target, Usage{Inbound: 1})
	}
}

func (l *Ledger) add(node string, change Usage) {
	if node == "" {
		return
	}
	usage := l.usage[node]
	usage.Owned += change.Owned
	usage.Inbound += change.Inbound
	usage.Reserved += change.Reserved
	if usage == (Usage{}) {
		delete(l.usage, node)
		return
	}
	l.usage[node] = usage
}

// Places returns the nodes on which a stream takes a slot; empty where it takes none.
func Places(stream *v1alpha1.Stream) (owner, target string) {
	if stream == nil {
		return "", ""
	}
	if pending := stream.Status.PendingTransfer; pending != nil {
		target = pending.Target
	}
	return stream.Status.Node, target
}
