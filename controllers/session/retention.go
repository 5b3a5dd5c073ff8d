package session

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/handoff"
)

const (
	// DefaultRetentionEvery is how often streams are looked at for what spec.retention does not keep.
	DefaultRetentionEvery = time.Minute
	// retentionsAtOnce bounds the streams that are trimmed at the same time.
	retentionsAtOnce = 16
	// retentionTimeout bounds one of them.
	retentionTimeout = 30 * time.Second
)

// RetentionWatch has the node's open streams trimmed to what their spec.retention keeps. A trim is a record in the log, which only
// an unfenced session can write.
type RetentionWatch struct {
	Sessions *Reconciler
	Every    time.Duration
}

// Start implements manager.Runnable.
func (w *RetentionWatch) Start(ctx context.Context) error {
	tick := time.NewTicker(w.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			w.Sessions.retain(ctx)
		}
	}
}

// retained is an open stream whose retention is bounded.
type retained struct {
	key       types.NamespacedName
	log       Log
	retention engine.Retention
}

// retain trims every open stream once, and returns when all of them are done.
func (r *Reconciler) retain(ctx context.Context) {
	var trims sync.WaitGroup
	slots := make(chan struct{}, retentionsAtOnce)
	for _, s := range r.host.retained() {
		slots <- struct{}{}
		trims.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, retentionTimeout)
			defer cancel()
			// A session that has ended meanwhile, or a store that is away, is the next look's affair.
			if err := s.log.Retain(ctx, s.retention); err != nil {
				r.Log.V(1).Info("Cannot trim stream to its retention", "stream", s.key.String(), "error", err.Error())
			}
		})
	}
	trims.Wait()
}

func (h *host) retained() []retained {
	h.mu.Lock()
	defer h.mu.Unlock()
	var found []retained
	for key, e := range h.entries {
		if bound := e.stream.Spec.Retention; bound != nil && e.session.Phase == handoff.SessionOpen {
			found = append(found, retained{key: key, log: e.log, retention: retentionOf(bound)})
		}
	}
	return found
}

func retentionOf(bound *v1alpha1.Retention) engine.Retention {
	r := engine.Retention{Bytes: bound.Bytes}
	if bound.Age != nil {
		r.Age = bound.Age.Duration
	}
	return r
}
