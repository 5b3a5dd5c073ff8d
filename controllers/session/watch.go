package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// workers decide on different streams at the same time. The work itself runs beside them.
const workers = 32

// OwnedBy and InboundTo select the streams that a node watches.
func OwnedBy(node string) fields.Selector { return fields.OneTermEqualSelector("status.node", node) }

// InboundTo selects the streams that a pending transfer brings to the node.
func InboundTo(node string) fields.Selector {
	return fields.OneTermEqualSelector("status.pendingTransfer.target", node)
}

// queue is the controller's queue, once it runs.
type queue struct {
	mu sync.Mutex
	q  workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// askAfter is how long one watch or an answer may come after the other watch: a fraction of what a request may wait.
const askAfter = 100 * time.Millisecond

// wake has a stream decided on now.
func (r *Reconciler) wake(key types.NamespacedName) { r.wakeAfter(key, 0) }

// wakeAfter has a stream decided on after a while.
func (r *Reconciler) wakeAfter(key types.NamespacedName, after time.Duration) {
	r.queue.mu.Lock()
	defer r.queue.mu.Unlock()
	if r.queue.q != nil {
		r.queue.q.AddAfter(reconcile.Request{NamespacedName: key}, after)
	}
}

// SetupWithManager registers the controller over the two caches: of owned streams and of inbound ones.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, owned, inbound cache.Cache) error {
	r.host = newHost(r.Node, r.Live, r.Now)
	r.Owned, r.Inbound = owned, inbound
	err := ctrl.NewControllerManagedBy(mgr).
		Named("session").
		WatchesRawSource(source.Func(func(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			r.queue.mu.Lock()
			r.queue.q = q
			r.queue.mu.Unlock()
			for _, streams := range []cache.Cache{owned, inbound} {
				if err := r.watch(ctx, streams); err != nil {
					return err
				}
			}
			return nil
		})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](retryAfter/64, retryAfter),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the session controller: %w", err)
	}
	return nil
}

// watch hands each event to the host, for the front to see it at once, and to the queue.
func (r *Reconciler) watch(ctx context.Context, streams cache.Cache) error {
	informer, err := streams.GetInformer(ctx, &v1alpha1.Stream{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching streams: %w", err)
	}
	take := func(object any, from origin) {
		if stream, ok := object.(*v1alpha1.Stream); ok {
			r.host.see(stream, from)
			r.wake(client.ObjectKeyFromObject(stream))
		}
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			if initial {
				take(object, listedAtStart)
			} else {
				take(object, seenLive)
			}
		},
		UpdateFunc: func(_, object any) { take(object, seenLive) },
		DeleteFunc: func(object any) {
			if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			// The stream has left this watch. The other one brings it, or the answer to an own write does, in most cases at the same
			// time; where neither does, the API server is asked when it is decided on.
			if stream, ok := object.(*v1alpha1.Stream); ok {
				r.wakeAfter(client.ObjectKeyFromObject(stream), askAfter)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watching streams: %w", err)
	}
	return nil
}
