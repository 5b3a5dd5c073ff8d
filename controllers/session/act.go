package session

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/internal/crashpoint"
	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/handoff"
)

// act has exactly one effect.
func (r *Reconciler) act(ctx context.Context, v *view, d decision) error {
	switch d.effect {
	case handOff:
		return r.handOff(ctx, v, d.step)
	case expire:
		return r.deleteObject(ctx, v.stream)
	case removeLog:
		r.removeLog(ctx, v.stream)
		return nil
	case releaseObject:
		return r.releaseObject(ctx, v.stream)
	case tellCannotOpen:
		return r.propose(ctx, v, handoff.CannotOpen(v.stream, v.cannotOpen.Error(), metav1.NewMicroTime(r.Now())))
	case forget:
		r.host.forget(client.ObjectKeyFromObject(v.stream))
		return nil
	}
	panic("unknown effect " + d.String())
}

func (r *Reconciler) handOff(ctx context.Context, v *view, step handoff.Decision) error {
	now := metav1.NewMicroTime(r.Now())
	switch step.Action {
	case handoff.Wait:
		return nil
	case handoff.Open:
		r.open(ctx, v)
		return nil
	case handoff.Close:
		r.close(ctx, v)
		return nil
	case handoff.Drop:
		r.drop(v)
		return nil
	case handoff.RecordOpened:
		openedAt := now
		if v.openedAt != nil {
			openedAt = *v.openedAt
		}
		if err := r.propose(ctx, v, handoff.Opened(v.stream, openedAt, v.openedLog)); err != nil {
			return err
		}
		r.traceRecorded(v, now.Time)
		return nil
	case handoff.Complete:
		closing := handoff.Closing{}
		if v.session.Epoch == v.stream.Status.Epoch {
			closing = v.closing
		}
		if err := r.propose(ctx, v, handoff.CompleteTransfer(v.stream, closing, now)); err != nil {
			return err
		}
		r.traceCompleted(v, closing, now.Time)
		return nil
	case handoff.Reopen:
		return r.propose(ctx, v, handoff.ReopenAt(v.stream, step.Epoch, now))
	case handoff.Resume:
		r.resume(ctx, v)
		return nil
	}
	panic("unknown action " + step.Action.String())
}

// propose sends a step, and takes in the register as it is after it.
func (r *Reconciler) propose(ctx context.Context, v *view, step handoff.Step) error {
	begun := r.Now()
	attempt, cancel := context.WithTimeout(ctx, cutOffAfter)
	defer cancel()
	updated, err := register.Propose(attempt, r.Client, v.stream, step)
	r.host.answered(client.ObjectKeyFromObject(v.stream), v.stream.UID, begun, err)
	if err != nil {
		return err
	}
	if updated.Status.Node != v.stream.Status.Node || updated.Status.Epoch != v.stream.Status.Epoch {
		logr.FromContextOrDiscard(ctx).Info("Changed register", "step", step.Name, "owner", updated.Status.Node, "newEpoch", updated.Status.Epoch)
	}
	r.host.see(updated, seenLive)
	r.wake(client.ObjectKeyFromObject(updated))
	return nil
}

// workTimeout bounds one attempt at opening, closing or removing. The object store's own time-outs are shorter.
const workTimeout = 30 * time.Second

// open starts opening the session at the register's epoch.
func (r *Reconciler) open(ctx context.Context, v *view) {
	key, epoch := client.ObjectKeyFromObject(v.stream), v.stream.Status.Epoch
	var opening Opening
	r.host.update(key, v.stream.UID, func(e *entry) {
		if r.host.stopping {
			return
		}
		if e.opening.Epoch != epoch {
			e.openedOrNew()
			e.opening = Opening{
				Stream: string(v.stream.UID), Epoch: epoch, Session: r.NewID(), Tail: tailHint(v.stream),
				Created: v.stream.Spec.Creation != v1alpha1.CreationByClient,
			}
		}
		e.opening.Known = knownSegment(v.stream) // may be told otherwise between two attempts
		opening = e.opening
		e.session.Phase, e.session.Epoch = handoff.SessionOpening, epoch
		e.openBegan = r.Now()
	})
	if opening == (Opening{}) {
		return
	}
	r.work(ctx, key, func(ctx context.Context) error {
		crashpoint.Pass(crashpoint.OpenBegins)
		log, err := r.Engine.Open(ctx, opening)
		crashpoint.Pass(crashpoint.OpenReturned)
		r.opened(ctx, key, v.stream.UID, opening, log, err)
		return err
	})
}

// tailHint returns where the log ended when the session before was closed, as far as the register knows.
func tailHint(stream *v1alpha1.Stream) int64 {
	if last := stream.Status.LastTransfer; last != nil && last.ClosedEpoch == stream.Status.Epoch-1 {
		return last.Tail
	}
	return stream.Status.Tail
}

// knownSegment returns what the log is held against when it is opened: what the register knows, or less where its user accepts that, and
// nothing (0) where the log is to be removed, which may have begun.
func knownSegment(stream *v1alpha1.Stream) int64 {
	if !stream.DeletionTimestamp.IsZero() && holdsLog(stream) {
		return 0
	}
	known := handoff.KnownSegment(&stream.Status)
	if end, err := strconv.ParseInt(stream.Annotations[v1alpha1.AnnotationAcceptLogEnd], 10, 64); err == nil {
		known = min(known, max(end, 0))
	}
	return known
}

// opened takes in the outcome of an opening, unless the session was dropped meanwhile.
func (r *Reconciler) opened(ctx context.Context, key types.NamespacedName, uid types.UID, opening Opening, log Log, err error) {
	now := metav1.NewMicroTime(r.Now())
	taken := false
	r.host.update(key, uid, func(e *entry) {
		r.traceOpened(e, opening, now.Time, err)
		if e.session.Phase != handoff.SessionOpening || e.opening.Session != opening.Session {
			return
		}
		e.failure = err
		if err != nil {
			mayOpen := e.session.MayOpen
			e.ended(err)
			if opening.Resumes && e.session.Phase == handoff.SessionNone {
				e.session = handoff.Session{Phase: handoff.SessionClosed, Epoch: opening.Epoch} // as it was
				return
			}
			if e.session.Phase == handoff.SessionNone {
				e.session.MayOpen = mayOpen // the same session may be tried again
				e.openFailed(now.Time)
				r.wakeAfter(key, e.openAfter.Sub(now.Time))
			}
			return
		}
		taken = true
		e.openedOrNew()
		e.log, e.openedAt, e.closing = log, &now, handoff.Closing{}
		e.openedLog = &v1alpha1.OpenedLog{Segment: int64(log.Opened().Segment), Offset: int64(log.Opened().Offset)}
		e.session = handoff.Session{Phase: handoff.SessionOpen, Epoch: opening.Epoch}
	})
	logger := logr.FromContextOrDiscard(ctx)
	switch {
	case err != nil:
		logger.Error(err, "Cannot open session")
	case !taken:
		log.Abandon()
	default:
		crashpoint.Pass(crashpoint.Released)
		if opening.Resumes {
			logger.Info("Resumed session", "tail", opening.Tail)
		} else {
			logger.Info("Opened session")
		}
		go r.watchEnd(key, uid, log)
	}
}

// watchEnd notes when a session ends by itself: it was fenced.
func (r *Reconciler) watchEnd(key types.NamespacedName, uid types.UID, log Log) {
	<-log.Done()
	err := log.Err()
	r.host.update(key, uid, func(e *entry) {
		if e.log == log && e.session.Phase == handoff.SessionOpen {
			e.ended(err)
			e.failure = err
		}
	})
	r.wake(key)
}

// close starts closing the session: it takes no more appends from now on.
func (r *Reconciler) close(ctx context.Context, v *view) {
	key := client.ObjectKeyFromObject(v.stream)
	var log Log
	r.host.update(key, v.stream.UID, func(e *entry) {
		if e.session.Phase == handoff.SessionOpen {
			log, e.session.Phase = e.log, handoff.SessionClosing
		}
	})
	if log == nil {
		return
	}
	r.work(ctx, key, func(ctx context.Context) error {
		crashpoint.Pass(crashpoint.CloseBegins)
		closing, err := log.Close(ctx)
		crashpoint.Pass(crashpoint.CloseReturned)
		r.closed(ctx, key, v.stream.UID, log, closing, err)
		return err
	})
}

// closed takes in the outcome of a close. One that failed leaves the session closing, and is tried again.
func (r *Reconciler) closed(ctx context.Context, key types.NamespacedName, uid types.UID, log Log, closing engine.Closing, err error) {
	var fenced *engine.FencedError
	ended := errors.As(err, &fenced) || errors.Is(err, engine.ErrStreamDeleted)
	r.host.update(key, uid, func(e *entry) {
		if e.log != log || e.session.Phase != handoff.SessionClosing {
			return
		}
		r.traceClosed(e, closing, err)
		e.failure = err
		switch {
		case ended:
			e.ended(err)
		case err != nil:
			e.session.Phase = handoff.SessionOpen // refuses appends all the same; decided again
		default:
			stopped, closed := metav1.NewMicroTime(closing.StoppedAt), metav1.NewMicroTime(closing.ClosedAt)
			e.log, e.session.Phase = nil, handoff.SessionClosed
			e.closing = handoff.Closing{Tail: int64(closing.Tail), StoppedAt: &stopped, ClosedAt: &closed}
		}
	})
	if err != nil {
		logr.FromContextOrDiscard(ctx).Error(err, "Cannot close session")
		return
	}
	logr.FromContextOrDiscard(ctx).Info("Closed session", "tail", closing.Tail)
}

// drop ends the session without writing. Its epoch is not opened again: what it has under way may still land.
func (r *Reconciler) drop(v *view) {
	key := client.ObjectKeyFromObject(v.stream)
	r.host.update(key, v.stream.UID, func(e *entry) {
		mayOpen := e.session.MayOpen
		e.end()
		if mayOpen > v.session.Epoch {
			e.session.MayOpen = mayOpen
		}
	})
	r.wake(key)
}

// work runs in the background, and has the stream decided on again when it is done: at once, or a while after a failure.
func (r *Reconciler) work(ctx context.Context, key types.NamespacedName, do func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), workTimeout)
	go func() {
		defer cancel()
		var fenced *engine.FencedError
		if err := do(ctx); err == nil || errors.As(err, &fenced) {
			r.wake(key)
		} else {
			r.wakeAfter(key, retryAfter)
		}
	}()
}
