package register

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// Views remembers the streams that own writes returned, until the watch has delivered them or something newer, so that
// nobody decides from a register that is older than its own last step. A view is never trusted for safety: a step that
// was decided from a stale one is refused.
type Views struct {
	mu     sync.Mutex
	newest map[types.UID]*v1alpha1.Stream
}

// NewViews returns an empty memory.
func NewViews() *Views {
	return &Views{newest: map[types.UID]*v1alpha1.Stream{}}
}

// Wrote remembers the answer to an own write.
func (v *Views) Wrote(stream *v1alpha1.Stream) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known := v.newest[stream.UID]; known == nil || Newer(stream, known) {
		v.newest[stream.UID] = stream
	}
}

// Newest returns the newer of what the watch delivered and what an own write returned. Once the watch has caught up,
// the memory of the write is dropped.
func (v *Views) Newest(watched *v1alpha1.Stream) *v1alpha1.Stream {
	v.mu.Lock()
	defer v.mu.Unlock()
	written := v.newest[watched.UID]
	if written == nil {
		return watched
	}
	if Newer(written, watched) {
		return written.DeepCopy()
	}
	delete(v.newest, watched.UID)
	return watched
}

// Forget drops what is known of a stream.
func (v *Views) Forget(uid types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.newest, uid)
}

// Newer tells whether a is a later version of the same stream than b.
func Newer(a, b *v1alpha1.Stream) bool {
	order, err := resourceversion.CompareResourceVersion(a.ResourceVersion, b.ResourceVersion)
	return err == nil && order > 0
}
