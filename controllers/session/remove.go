package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/internal/engine"
)

// deleteObject deletes the Stream object; the rest follows from that.
func (r *Reconciler) deleteObject(ctx context.Context, stream *v1alpha1.Stream) error {
	err := r.Client.Delete(ctx, stream, client.Preconditions{UID: &stream.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the stream: %w", err)
	}
	return nil
}

// removeLog starts removing the log of a deleted stream: the log says first that the stream is deleted.
func (r *Reconciler) removeLog(ctx context.Context, stream *v1alpha1.Stream) {
	key := client.ObjectKeyFromObject(stream)
	var log Log
	r.host.update(key, stream.UID, func(e *entry) { log, e.removing = e.log, true })
	r.work(ctx, key, func(ctx context.Context) error {
		err := r.remove(ctx, log, string(stream.UID))
		r.host.update(key, stream.UID, func(e *entry) { e.removing, e.removed, e.failure = false, err == nil, err })
		if err != nil {
			logr.FromContextOrDiscard(ctx).Error(err, "Cannot remove the log of a deleted stream")
		}
		return err
	})
}

func (r *Reconciler) remove(ctx context.Context, log Log, stream string) error {
	if log != nil {
		if err := log.Delete(ctx); err != nil && !errors.Is(err, engine.ErrStreamDeleted) {
			return fmt.Errorf("recording the deletion: %w", err)
		}
	}
	return r.Engine.Remove(ctx, stream) //nolint:wrapcheck // says what it was doing
}

func holdsLog(stream *v1alpha1.Stream) bool {
	return slices.Contains(stream.Finalizers, v1alpha1.FinalizerLog)
}

// releaseObject removes the finalizer of a stream whose log is removed.
func (r *Reconciler) releaseObject(ctx context.Context, stream *v1alpha1.Stream) error {
	left := slices.DeleteFunc(slices.Clone(stream.Finalizers), func(f string) bool { return f == v1alpha1.FinalizerLog })
	_, err := register.PatchFinalizers(ctx, r.Client, stream, left)
	return err //nolint:wrapcheck // says what it was doing
}
