package session

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/streamshift/streamshift/internal/handoff"
)

// closesAtOnce bounds the sessions that are closed at the same time when the agent stops: each close is one write.
const closesAtOnce = 64

// Stop closes every open session, so that the next process finds each log at its end, and opens no more. It returns how
// many could not be closed in time: those are recovered like after a crash.
func (r *Reconciler) Stop(ctx context.Context) (left int) {
	type open struct {
		key types.NamespacedName
		log Log
	}
	var sessions []open
	r.host.mu.Lock()
	r.host.stopping = true
	for key, e := range r.host.entries {
		if e.session.Phase == handoff.SessionOpen {
			e.session.Phase = handoff.SessionClosing
			sessions = append(sessions, open{key, e.log})
			e.tell()
		}
	}
	r.host.mu.Unlock()

	var closing sync.WaitGroup
	var failed sync.Map
	slots := make(chan struct{}, closesAtOnce)
	for _, session := range sessions {
		slots <- struct{}{}
		closing.Go(func() {
			defer func() { <-slots }()
			if _, err := session.log.Close(ctx); err != nil {
				failed.Store(session.key, err)
				r.Log.Error(err, "Cannot close session at the end", "stream", session.key.String())
			}
		})
	}
	closing.Wait()
	failed.Range(func(any, any) bool { left++; return true })
	r.Log.Info("Closed all sessions", "closed", len(sessions)-left, "left", left)
	return left
}
