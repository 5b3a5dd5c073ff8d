package session

import (
	"context"
	"time"

	"github.com/streamshift/streamshift/internal/handoff"
)

// HoldsSessions tells whether any session is open, or being opened or closed.
func (r *Reconciler) HoldsSessions() bool {
	r.host.mu.Lock()
	defer r.host.mu.Unlock()
	for _, e := range r.host.entries {
		switch e.session.Phase {
		case handoff.SessionOpening, handoff.SessionOpen, handoff.SessionClosing:
			return true
		case handoff.SessionNone, handoff.SessionClosed, handoff.SessionFenced:
		}
	}
	return false
}

// owned counts the streams that the register gives to this node.
func (r *Reconciler) owned() int {
	r.host.mu.Lock()
	defer r.host.mu.Unlock()
	count := 0
	for _, e := range r.host.entries {
		if e.stream.Status.Node == r.Node {
			count++
		}
	}
	return count
}

const (
	// leaveLook is how often the agent looks whether its streams have left.
	leaveLook = 20 * time.Millisecond
	// leavePatience is how long it waits for the next one to leave: longer, and nobody transfers them.
	leavePatience = 3 * time.Second
)

// AwaitLeft waits until every stream has been transferred away, the context ends, or none has left for a while. It
// returns how many are left.
func (r *Reconciler) AwaitLeft(ctx context.Context) int {
	tick := time.NewTicker(leaveLook)
	defer tick.Stop()
	fewest, since := r.owned(), r.Now()
	for fewest > 0 {
		select {
		case <-ctx.Done():
			return fewest
		case <-tick.C:
		}
		if left := r.owned(); left < fewest {
			fewest, since = left, r.Now()
		}
		if r.Now().Sub(since) >= leavePatience {
			return fewest
		}
	}
	return 0
}
