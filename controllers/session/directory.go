package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/routing"
)

const (
	// locateLimit bounds the requests to the API server for streams that the node has no part in.
	locateLimit = 32
	// goneEvery is how often a stream that is being deleted is looked at by those who want its name.
	goneEvery = 20 * time.Millisecond
)

// Directory answers the node's front.
type Directory struct {
	r       *Reconciler
	locates chan struct{}
}

var _ routing.Directory = &Directory{}

// NewDirectory returns the directory of a node whose reconciler is set up.
func NewDirectory(r *Reconciler) *Directory {
	return &Directory{r: r, locates: make(chan struct{}, locateLimit)}
}

// Situation implements routing.Directory.
func (d *Directory) Situation(stream routing.Stream) (routing.Situation, bool, <-chan struct{}) {
	return d.r.host.situation(stream)
}

// Locate implements routing.Directory. A stream that has no owner yet is watched until it gets one.
func (d *Directory) Locate(ctx context.Context, stream routing.Stream) (routing.Situation, error) {
	object, err := d.get(ctx, stream)
	if err != nil {
		return routing.Situation{}, err
	}
	if object.Status.Node == "" && object.DeletionTimestamp.IsZero() {
		if object, err = d.awaitOwner(ctx, object); err != nil {
			return routing.Situation{}, err
		}
	}
	return situationOf(object, settingsOf(object)), nil
}

// awaitOwner watches one stream until it has an owner, is gone, or the API server ends the watch, and returns it as it
// was seen last.
func (d *Directory) awaitOwner(ctx context.Context, object *v1alpha1.Stream) (*v1alpha1.Stream, error) {
	watcher, err := d.r.Live.Watch(ctx, &v1alpha1.StreamList{}, &client.ListOptions{
		Namespace:     object.Namespace,
		FieldSelector: fields.OneTermEqualSelector("metadata.name", object.Name),
		Raw:           &metav1.ListOptions{ResourceVersion: object.ResourceVersion},
	})
	if err != nil {
		return nil, fmt.Errorf("watching a stream until it is placed: %w", err)
	}
	defer watcher.Stop()
	for {
		select {
		case <-ctx.Done():
			return object, nil
		case e, open := <-watcher.ResultChan():
			seen, ok := e.Object.(*v1alpha1.Stream)
			switch {
			case !open || !ok:
				return object, nil
			case e.Type == watch.Deleted:
				return nil, routing.ErrNotFound
			case seen.Status.Node != "":
				return seen, nil
			}
			object = seen
		}
	}
}

func (d *Directory) get(ctx context.Context, stream routing.Stream) (*v1alpha1.Stream, error) {
	select {
	case d.locates <- struct{}{}:
		defer func() { <-d.locates }()
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting to ask the API server: %w", ctx.Err())
	}
	object := &v1alpha1.Stream{}
	err := d.r.Live.Get(ctx, client.ObjectKey{Namespace: stream.Namespace, Name: stream.Name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil, routing.ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("reading stream %s: %w", stream, err)
	}
	return object, nil
}

// Address implements routing.Directory.
func (d *Directory) Address(ctx context.Context, node string) (string, error) {
	return d.r.host.addresses.of(ctx, node)
}

// Create implements routing.Directory. Where a stream of that name is being deleted it waits until that is gone.
func (d *Directory) Create(ctx context.Context, stream routing.Stream, settings durablestreams.Settings) error {
	return wait.PollUntilContextCancel(ctx, goneEvery, true, func(ctx context.Context) (bool, error) {
		err := d.r.Client.Create(ctx, newStream(stream, settings))
		switch {
		case err == nil:
			return true, nil
		case apierrors.IsAlreadyExists(err):
			existing, err := d.get(ctx, stream)
			if errors.Is(err, routing.ErrNotFound) {
				return false, nil
			}
			return err == nil && existing.DeletionTimestamp.IsZero(), err
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err), apierrors.IsInvalid(err):
			return false, &durablestreams.Problem{
				Type: durablestreams.ProblemInvalidRequest, Status: httpStatus(err),
				Detail: fmt.Sprintf("The stream cannot be created in namespace %s: %s.", stream.Namespace, apierrors.ReasonForError(err)),
			}
		}
		return false, fmt.Errorf("creating stream %s: %w", stream, err)
	})
}

func httpStatus(err error) int {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Code != 0 {
		return int(status.Status().Code)
	}
	return 400
}

func newStream(stream routing.Stream, settings durablestreams.Settings) *v1alpha1.Stream {
	object := &v1alpha1.Stream{
		// The finalizer spares the manager a write before it places the stream.
		ObjectMeta: metav1.ObjectMeta{Namespace: stream.Namespace, Name: stream.Name, Finalizers: []string{v1alpha1.FinalizerLog}},
		Spec:       v1alpha1.StreamSpec{Creation: v1alpha1.CreationByClient, ContentType: settings.ContentType},
	}
	if settings.TTL != nil {
		object.Spec.TTL = &metav1.Duration{Duration: *settings.TTL}
	}
	if settings.ExpiresAt != nil {
		expiresAt := v1alpha1.NewMoment(*settings.ExpiresAt)
		object.Spec.ExpiresAt = &expiresAt
	}
	return object
}

// Delete implements routing.Directory: the log says first that the stream is deleted, which only the owner's session
// can write; then the object goes.
func (d *Directory) Delete(ctx context.Context, stream routing.Stream, uid string) error {
	key := types.NamespacedName{Namespace: stream.Namespace, Name: stream.Name}
	log := d.r.host.openLog(key, types.UID(uid))
	if log == nil {
		return engine.ErrSessionClosed
	}
	if err := log.Delete(ctx); err != nil && !errors.Is(err, engine.ErrStreamDeleted) {
		return err //nolint:wrapcheck // the front tells the engine's errors apart
	}
	object := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: stream.Namespace, Name: stream.Name, UID: types.UID(uid)}}
	return d.r.deleteObject(ctx, object)
}

// Expired is told by the protocol of a stream whose time to live is over.
func (r *Reconciler) Expired(stream durablestreams.Stream) {
	r.host.mu.Lock()
	defer r.host.mu.Unlock()
	for key, e := range r.host.entries {
		if string(e.stream.UID) == stream.ID {
			r.wake(key)
			return
		}
	}
}
