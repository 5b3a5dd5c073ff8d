package kubectlstream

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// followTick is how often something is looked at again that does not change: time passes.
	followTick = 500 * time.Millisecond
	// followPause is the pause before an API server that did not answer is asked again, followPatience for how long.
	followPause    = time.Second
	followPatience = time.Minute
)

// followed is one object that is watched until enough is seen of it.
type followed[T client.Object] struct {
	client client.WithWatch
	key    client.ObjectKey
	// empty returns a new object, list one of its kind.
	empty func() T
	list  client.ObjectList
	// look is shown the object as it is now, whenever it changes and once a tick; found is false where there is none. It
	// returns true once it has seen enough.
	look func(object T, found bool) bool
}

// follow returns nil once look has seen enough, else why it has not: the end of ctx, or the API server. One that is away for a
// while is waited for.
func (f *followed[T]) follow(ctx context.Context) error {
	var failingSince time.Time
	for {
		begun := time.Now()
		enough, err := f.watch(ctx)
		switch {
		case enough:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil: // servers end watches from time to time
			failingSince = time.Time{}
			continue
		case isFinal(err):
			return err
		case failingSince.IsZero() || begun.Sub(failingSince) < 0 || time.Since(begun) > followPause:
			failingSince = begun // the first failure, or one after a watch that went well for a while
		case time.Since(failingSince) > followPatience:
			return fmt.Errorf("following %s: %w", f.key.Name, err)
		}
		if err := pause(ctx, followPause); err != nil {
			return err
		}
	}
}

// watch looks at the object and at its changes until look has seen enough, or the watch ends.
func (f *followed[T]) watch(ctx context.Context) (enough bool, err error) {
	object, found := f.empty(), true
	switch err := f.client.Get(ctx, f.key, object); {
	case apierrors.IsNotFound(err):
		found = false
	case err != nil:
		return false, err
	}
	if f.look(object, found) {
		return true, nil
	}
	changes, err := f.client.Watch(ctx, f.list, client.InNamespace(f.key.Namespace), client.MatchingFields{metav1.ObjectNameField: f.key.Name},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: object.GetResourceVersion()}})
	if err != nil {
		return false, err
	}
	defer changes.Stop()
	tick := time.NewTicker(followTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-tick.C:
		case event, open := <-changes.ResultChan():
			if !open {
				return false, nil
			}
			if event.Type == watch.Error {
				return false, apierrors.FromObject(event.Object)
			}
			changed, ok := event.Object.(T)
			if !ok || event.Type == watch.Bookmark {
				continue
			}
			object, found = changed, event.Type != watch.Deleted
		}
		if f.look(object, found) {
			return true, nil
		}
	}
}

// isFinal tells whether asking again leads to nothing else.
func isFinal(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || meta.IsNoMatchError(err)
}

// pause waits, or returns why ctx ended before that.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// limited bounds ctx by a --timeout; 0: no bound.
func limited(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, timeout)
}
