package session

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/handoff"
)

// moment is a time that may be unknown.
type moment = *metav1.MicroTime

// view is everything that a decision about a stream is made from.
type view struct {
	stream   *v1alpha1.Stream
	session  handoff.Session
	closing  handoff.Closing
	openedAt moment
	// openBegan is when the attempt that opened it began, placedAt when the stream was seen to be placed here; zero: before this process.
	openBegan, placedAt time.Time
	// openedLog is where in its log the open session was opened.
	openedLog *v1alpha1.OpenedLog
	// involved tells that the register names this node, as owner or as target.
	involved bool
	// gone tells that the stream does not exist any more; forgettable, that it went elsewhere a while ago.
	gone, forgettable bool
	// setBack tells that an older version of the register than this one was delivered, setBackLong that this was a while ago
	// and nothing newer came.
	setBack, setBackLong bool
	// removing and removed tell how far the removal of a deleted stream's log is.
	removing, removed bool
	// deleted tells that the log says that the stream is deleted.
	deleted bool
	// cannotOpen is why attempts at opening the session have failed for a while; nil: they have not.
	cannotOpen error
	// openAfter is when the next attempt may be made, after one that failed.
	openAfter time.Time
	// expiresAt is when an open stream ends, if nobody uses it before; nil: never.
	expiresAt *time.Time
}

// observe reads the view; nil where the stream is not known, or gone.
func (r *Reconciler) observe(ctx context.Context, key types.NamespacedName) (*view, error) {
	v := r.host.view(key, r.Now())
	if v != nil && v.session.CutOff && v.session.Phase == handoff.SessionOpen && v.stream.Status.PendingTransfer != nil {
		return r.tryToReach(ctx, key, v)
	}
	if v == nil || !v.setBackLong && (!v.involved || r.watched(ctx, key, v.stream)) {
		return v, nil
	}
	// An older register than this one was delivered, or this one names the node and neither watch has the stream: it has left, or
	// is gone.
	newer, err := r.ask(ctx, key, v)
	if err != nil {
		return nil, fmt.Errorf("asking where the stream is: %w", err)
	}
	return newer, nil
}

// ask returns the view after a look at the register itself. An answer that is older than the view tells that etcd was restored from a
// backup, which leaves every object the version that it had.
func (r *Reconciler) ask(ctx context.Context, key types.NamespacedName, v *view) (*view, error) {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	stream := &v1alpha1.Stream{}
	switch err := r.Live.Get(ctx, key, stream); {
	case apierrors.IsNotFound(err):
		v.gone = true
		return v, nil
	case err != nil:
		return nil, err //nolint:wrapcheck // the callers say what it was for
	}
	r.host.see(stream, seenLive)
	r.host.setBack(stream, v.stream.ResourceVersion)
	return r.host.view(key, r.Now()), nil
}

// watched tells whether one of the watches has the stream, in whatever version.
func (r *Reconciler) watched(ctx context.Context, key types.NamespacedName, stream *v1alpha1.Stream) bool {
	for _, reader := range []client.Reader{r.Owned, r.Inbound} {
		cached := &v1alpha1.Stream{}
		if err := reader.Get(ctx, key, cached); err == nil && cached.UID == stream.UID {
			return true
		}
	}
	return false
}

func (h *host) view(key types.NamespacedName, now time.Time) *view {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := h.entries[key]
	if e == nil {
		return nil
	}
	v := &view{
		stream: e.stream, session: e.session, closing: e.closing, openedAt: e.openedAt, openedLog: e.openedLog,
		openBegan: e.openBegan, placedAt: e.inboundSince,
		removing: e.removing, removed: e.removed, deleted: e.deleted, involved: involves(e.stream, h.me),
		forgettable: now.Sub(e.seenAt) >= forgetAfter,
	}
	v.setBack = !e.setBackSince.IsZero()
	v.setBackLong = v.setBack && now.Sub(e.setBackSince) >= setBackAfter
	v.session.CutOff = e.cutOff(now)
	v.openAfter = e.openAfter
	if !e.failingSince.IsZero() && e.session.Phase == handoff.SessionNone && now.Sub(e.failingSince) >= tellFailureAfter {
		v.cannotOpen = e.failure
	}
	if !e.overdue && arriving(h.me, &e.stream.Status) != "" && now.Sub(e.inboundSince) >= giveBackAfter {
		e.overdue = true
		e.tell()
	}
	if e.session.Phase == handoff.SessionOpen {
		if at, ends := e.settings.Expiry(e.log.Info().LastAccess); ends {
			v.expiresAt = &at
		}
	}
	return v
}

func involves(stream *v1alpha1.Stream, node string) bool {
	pending := stream.Status.PendingTransfer
	return stream.Status.Node == node || pending != nil && pending.Target == node
}
