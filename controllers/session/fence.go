package session

import (
	"context"
	"sync"
	"time"

	"github.com/streamshift/streamshift/internal/handoff"
)

const (
	// fenceEvery is how often the logs are looked at while the node's lease has run out.
	fenceEvery = time.Second
	// fencesAtOnce bounds the looks at the same time: each is one read of the object store.
	fencesAtOnce = 64
	// fenceTimeout bounds one look.
	fenceTimeout = 5 * time.Second
)

// FenceWatch looks at the logs of the open sessions while the node's own lease has run out: its streams may have been
// taken over, which a node that is cut off from the API server finds out in no other way before the next append.
type FenceWatch struct {
	Sessions *Reconciler
	// LeaseLapsed tells whether the lease has run out as the node knows it.
	LeaseLapsed func() bool
}

// Start implements manager.Runnable.
func (w *FenceWatch) Start(ctx context.Context) error {
	tick := time.NewTicker(fenceEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if w.LeaseLapsed() {
				w.Sessions.checkFences(ctx)
			}
		}
	}
}

// checkFences looks at the log of every open session, and returns once each look has ended. A session that is fenced
// ends by itself; its readers are released and its requests are routed by what is known then.
func (r *Reconciler) checkFences(ctx context.Context) {
	var logs []Log
	r.host.mu.Lock()
	for _, e := range r.host.entries {
		if e.session.Phase == handoff.SessionOpen {
			logs = append(logs, e.log)
		}
	}
	r.host.mu.Unlock()
	var looks sync.WaitGroup
	slots := make(chan struct{}, fencesAtOnce)
	for _, log := range logs {
		slots <- struct{}{}
		looks.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, fenceTimeout)
			defer cancel()
			if err := log.CheckFence(ctx); err != nil {
				r.Log.V(1).Info("Looked for a fence", "outcome", err.Error())
			}
		})
	}
	looks.Wait()
}
