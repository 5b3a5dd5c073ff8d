package session

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
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

// outlook is how far the streams are that must leave before the agent ends.
type outlook struct {
	// owned counts those that the register gives to this node, and leaving those of them that a pending transfer takes away.
	owned, leaving int
	// coming counts those that a pending transfer brings, accepted before the manager heard that this node ends: they come, and
	// leave again.
	coming int
}

func (r *Reconciler) outlook() (o outlook) {
	r.host.mu.Lock()
	defer r.host.mu.Unlock()
	for _, e := range r.host.entries {
		pending := e.stream.Status.PendingTransfer
		switch {
		case e.stream.Status.Node == r.Node:
			o.owned++
			if pending != nil {
				o.leaving++
			}
		case pending != nil && pending.Target == r.Node:
			o.coming++
		}
	}
	return o
}

const (
	// leaveLook is how often the agent looks whether its streams have left.
	leaveLook = 20 * time.Millisecond
	// leavePatience is for how long nothing may happen to them: longer, and nobody transfers them. Another manager needs a moment to
	// take over from one that ends, too.
	leavePatience = 10 * time.Second
	// blockedPatience is for how long nothing may happen where the manager says that some cannot leave, and blockedLook how often it
	// is asked whether it does.
	blockedPatience = 3 * time.Second
	blockedLook     = time.Second
)

// AwaitLeft waits until every stream has been transferred away, the context ends, or nothing has happened to them for a while:
// none was accepted, left or came. It returns how many are left.
func (r *Reconciler) AwaitLeft(ctx context.Context) int {
	tick := time.NewTicker(leaveLook)
	defer tick.Stop()
	w := &waiting{seen: r.outlook(), since: r.Now(), blocked: func() bool { return r.saidBlocked(ctx) }}
	for w.goOn(r.outlook(), r.Now()) {
		select {
		case <-ctx.Done():
			return w.seen.owned
		case <-tick.C:
		}
	}
	return w.seen.owned
}

// saidBlocked tells whether the manager says that streams of this node cannot leave.
func (r *Reconciler) saidBlocked(ctx context.Context) bool {
	node := &v1alpha1.StreamNode{}
	if err := r.Live.Get(ctx, client.ObjectKey{Name: r.Node}, node); err != nil {
		return false // so does nobody
	}
	return condition.IsTrue(node.Status.Conditions, v1alpha1.ConditionDrainBlocked)
}

// waiting is how patient the agent is.
type waiting struct {
	// seen is how things are since then.
	seen  outlook
	since time.Time
	// blocked asks the manager; asked is when it was asked last.
	blocked func() bool
	asked   time.Time
}

// goOn takes in how things are now, and tells whether to wait on.
func (w *waiting) goOn(next outlook, now time.Time) bool {
	if next != w.seen {
		w.seen, w.since = next, now
	}
	still := now.Sub(w.since)
	switch {
	case next.owned+next.coming == 0, still >= leavePatience:
		return false
	case still < blockedPatience, next.leaving+next.coming > 0, now.Sub(w.asked) < blockedLook:
		return true
	}
	w.asked = now
	return !w.blocked()
}
