package register

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// Views remembers the objects that own writes returned, until the watch has delivered them or something newer, so that
// nobody decides from an object that is older than its own last write. A view is never trusted for safety: a step that
// was decided from a stale one is refused.
type Views[T client.Object] struct {
	mu     sync.Mutex
	newest map[types.UID]T
}

// Streams are views of streams.
type Streams = Views[*v1alpha1.Stream]

// NewViews returns an empty memory.
func NewViews[T client.Object]() *Views[T] {
	return &Views[T]{newest: map[types.UID]T{}}
}

// Wrote remembers the answer to an own write.
func (v *Views[T]) Wrote(object T) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known, found := v.newest[object.GetUID()]; !found || Newer(object, known) {
		v.newest[object.GetUID()] = object
	}
}

// Newest returns the newer of what the watch delivered and what an own write returned. Once the watch has caught up,
// the memory of the write is dropped.
func (v *Views[T]) Newest(watched T) T {
	v.mu.Lock()
	defer v.mu.Unlock()
	written, found := v.newest[watched.GetUID()]
	if !found {
		return watched
	}
	if Newer(written, watched) {
		return written.DeepCopyObject().(T) //nolint:forcetypeassert // a copy has its original's type
	}
	delete(v.newest, watched.GetUID())
	return watched
}

// Forget drops what is known of an object.
func (v *Views[T]) Forget(uid types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.newest, uid)
}

// Newer tells whether a is a later version of the same object than b.
func Newer(a, b client.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}
