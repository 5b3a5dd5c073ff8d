package drain

import (
	"sync"
	"time"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/placement"
)

// pace is what the events tell, and a pass asks.
type pace struct {
	mu   sync.Mutex
	pace placement.Pace
}

// ended takes in a transfer that has ended, of whatever cause: from when it was accepted until the target opened the stream,
// requests for it waited at the target. The two times are of two clocks; that one is wrong makes a drain slower or faster.
func (p *pace) ended(transfer *v1alpha1.StreamTransfer, now time.Time) {
	accepted, opened := transfer.Status.AcceptedAt, transfer.Status.OpenedAt
	if accepted == nil || opened == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pace.Feel(transfer.Spec.Target, accepted.Time, opened.Sub(accepted.Time), now)
}

// sharesOf returns what each node may get at the same time, and forgets all other nodes.
func (p *pace) sharesOf(nodes []*nodeView) map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	names, shares := map[string]bool{}, make(map[string]int, len(nodes))
	for _, n := range nodes {
		names[n.node.Name] = true
		shares[n.node.Name] = p.pace.Share(n.node.Name)
	}
	p.pace.Keep(names)
	return shares
}
