package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/internal/handoff"
	"github.com/streamshift/streamshift/internal/routing"
)

// A source that closed its session and cannot complete, since the API server is away, serves on: it opens its own session
// again, which the log allows as long as nobody else was opened. Requests wait for at most the park time, 10 s, so the
// times below and the opening together stay well under it.
const (
	// cutOffAfter is for how long steps are proposed in vain before the register is taken for out of reach, and how long
	// one proposal waits for its answer.
	cutOffAfter = 3 * time.Second
	// giveBackAfter is how long a target has requests wait for a pending transfer before it sends them back to the
	// source, which serves again by then or is about to complete.
	giveBackAfter = routing.GiveBackAfter
	// reachTimeout bounds one look whether the register can be reached again.
	reachTimeout = 2 * time.Second
)

// answered notes whether a proposal that was begun at a time was answered: taken, or refused.
func (h *host) answered(key types.NamespacedName, uid types.UID, begun time.Time, err error) {
	h.update(key, uid, func(e *entry) {
		switch {
		case err == nil, errors.Is(err, register.ErrRefused):
			e.unansweredSince = time.Time{}
		case e.unansweredSince.IsZero():
			e.unansweredSince = begun
		}
	})
}

// cutOff tells whether the register is out of reach.
func (e *entry) cutOff(now time.Time) bool {
	return !e.unansweredSince.IsZero() && now.Sub(e.unansweredSince) >= cutOffAfter
}

// tryToReach looks at the register of a stream that is served while its transfer cannot be completed. Once it can be
// reached, the session is closed again before the completion is proposed again.
func (r *Reconciler) tryToReach(ctx context.Context, key types.NamespacedName, v *view) (*view, error) {
	newer, err := r.ask(ctx, key, v)
	switch {
	case err != nil:
		logr.FromContextOrDiscard(ctx).V(1).Info("Serving while the register is out of reach", "stream", key.String(), "reason", err.Error())
		return v, nil
	case newer == nil || newer.gone:
		return newer, nil
	}
	r.host.answered(key, v.stream.UID, r.Now(), nil)
	return r.host.view(key, r.Now()), nil
}

// resume starts opening the session again that this process closed.
func (r *Reconciler) resume(ctx context.Context, v *view) {
	key, epoch := client.ObjectKeyFromObject(v.stream), v.session.Epoch
	var opening Opening
	r.host.update(key, v.stream.UID, func(e *entry) {
		if r.host.stopping || e.session.Phase != handoff.SessionClosed || e.opening.Epoch != epoch {
			return
		}
		opening = e.opening
		opening.Tail, opening.Resumes = e.closing.Tail, true
		e.session.Phase = handoff.SessionOpening
		e.openBegan = r.Now()
	})
	if opening == (Opening{}) {
		return
	}
	r.work(ctx, key, func(ctx context.Context) error {
		log, err := r.Engine.Open(ctx, opening)
		r.opened(ctx, key, v.stream.UID, opening, log, err)
		if err != nil {
			return fmt.Errorf("resuming: %w", err)
		}
		return nil
	})
}
