// Package slots counts the slots that are taken on each node: streams that the node owns, and pending transfers to it.
// It counts from the watch and from the manager's own writes that the watch has not delivered yet, in constant work per
// event. It decides nothing.
package slots

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/placement"
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
	// doubtful are the reservations whose step may or may not have been taken.
	doubtful map[types.UID]bool
	usage    map[string]Usage
	// setBack are the streams of which an older version than the one counted was delivered last.
	setBack map[types.UID]bool
	// gone are the streams that were forgotten last, at most rememberGone: an answer about one of them may still be under way.
	gone []types.UID
}

// rememberGone bounds for how many streams it is remembered that they are gone.
const rememberGone = 256

// NewLedger returns an empty ledger.
func NewLedger() *Ledger {
	return &Ledger{
		streams: map[types.UID]*v1alpha1.Stream{}, usage: map[string]Usage{}, setBack: map[types.UID]bool{},
		reserved: map[types.UID]string{}, doubtful: map[types.UID]bool{},
	}
}

// Usage returns how many slots of a node are taken.
func (l *Ledger) Usage(node string) Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.usage[node]
}

// Candidate returns a node as the choice of one sees it.
func (l *Ledger) Candidate(node *v1alpha1.StreamNode) placement.Node {
	return placement.Node{
		Name: node.Name, Slots: int(node.Spec.Slots), Used: l.Usage(node.Name).Taken(), Unfit: condition.NodeUnfit(node), Labels: node.Labels,
	}
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
	if before, twice := l.reserved[stream]; twice {
		if l.doubtful[stream] && before == node {
			delete(l.doubtful, stream) // the same step once more
			return true
		}
		return false
	}
	if l.usage[node].Taken() >= slots {
		return false
	}
	l.reserved[stream] = node
	l.add(node, Usage{Reserved: 1})
	return true
}

// Release ends a reservation. Where the step was taken, tell of its Answer before.
func (l *Ledger) Release(stream types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release(stream)
}

func (l *Ledger) release(stream types.UID) {
	if node, found := l.reserved[stream]; found {
		delete(l.reserved, stream)
		delete(l.doubtful, stream)
		l.add(node, Usage{Reserved: -1})
	}
}

// Doubt keeps a reservation whose step got no answer, or one that a view behind cannot explain: the slot counts until the
// stream is known as it is after that, by Learn or by the watch, or until the same step is taken again.
func (l *Ledger) Doubt(stream types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.Contains(l.gone, stream) {
		l.release(stream) // nothing will tell of it any more
	} else if _, found := l.reserved[stream]; found {
		l.doubtful[stream] = true
	}
}

// Doubtful tells whether the outcome of a step on the stream is still to be learnt.
func (l *Ledger) Doubtful(stream types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.doubtful[stream]
}

// Learn counts a stream that was read from the API server after the step in doubt, and ends its reservation.
func (l *Ledger) Learn(stream *v1alpha1.Stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer(stream)
	if l.doubtful[stream.UID] {
		l.release(stream.UID)
	}
}

// Answer counts a stream as the API server returned it. The watch may have told meanwhile that it is gone, and tells that once:
// what was asked before is not counted any more. The stream must not be changed afterwards.
func (l *Ledger) Answer(stream *v1alpha1.Stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answer(stream)
}

func (l *Ledger) answer(stream *v1alpha1.Stream) {
	if !slices.Contains(l.gone, stream.UID) {
		l.observe(stream)
	}
}

// Observe counts a stream as it was delivered by the watch. An older version of a stream than the one counted is ignored. The
// stream must not be changed afterwards.
func (l *Ledger) Observe(stream *v1alpha1.Stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gone = slices.DeleteFunc(l.gone, func(gone types.UID) bool { return gone == stream.UID }) // a restore of etcd brought it back
	l.observe(stream)
}

func (l *Ledger) observe(stream *v1alpha1.Stream) {
	known := l.streams[stream.UID]
	if known != nil && register.Newer(known, stream) {
		l.setBack[stream.UID] = true
		return
	}
	delete(l.setBack, stream.UID)
	l.streams[stream.UID] = stream
	l.replace(known, stream)
	if l.doubtful[stream.UID] && known != nil && known.ResourceVersion != stream.ResourceVersion {
		_, target := Places(stream)
		if reserved := l.reserved[stream.UID]; target == reserved || stream.Status.Node == reserved {
			l.release(stream.UID) // it was taken, and is counted now
		}
	}
}

// Forget stops counting a stream that is gone.
func (l *Ledger) Forget(stream types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.gone, stream) {
		l.gone = append(l.gone, stream)
		l.gone = l.gone[max(0, len(l.gone)-rememberGone):]
	}
	known := l.streams[stream]
	delete(l.streams, stream)
	delete(l.setBack, stream)
	l.replace(known, nil)
	if l.doubtful[stream] {
		l.release(stream)
	}
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
