package streamtransfer

import (
	"context"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"k8s.io/client-go/util/workqueue"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/handoff"
)

// workers reconcile different transfers at the same time.
const workers = 32

// Indexes of the transfers that have not ended. The ended ones are not in them, so that a stream's history costs
// nothing.
const (
	openByStream = "openByStream"
	openByTarget = "openByTarget"
)

// SetupWithManager registers the controller and its indexes.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	for name, key := range map[string]func(*v1alpha1.StreamTransfer) string{
		openByStream: func(t *v1alpha1.StreamTransfer) string { return t.Spec.Stream },
		openByTarget: func(t *v1alpha1.StreamTransfer) string { return t.Spec.Target },
	} {
		err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.StreamTransfer{}, name, func(object client.Object) []string {
			if transfer, ok := object.(*v1alpha1.StreamTransfer); ok && !handoff.Terminal(transfer) {
				return []string{key(transfer)}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("indexing transfers: %w", err)
		}
	}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("streamtransfer").
		Watches(&v1alpha1.StreamTransfer{}, r.forgetting(byPriority(itself))).
		Watches(&v1alpha1.Stream{}, byPriority(r.ofStream)).
		Watches(&v1alpha1.StreamNode{}, byPriority(r.ofTarget)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](10*time.Millisecond, time.Second),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the transfer controller: %w", err)
	}
	return nil
}

// forgetting drops what is remembered of a transfer that is gone.
func (r *Reconciler) forgetting(handle handler.Funcs) handler.EventHandler {
	enqueue := handle.DeleteFunc
	handle.DeleteFunc = func(ctx context.Context, e event.DeleteEvent, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		r.Written.Forget(e.Object.GetUID())
		enqueue(ctx, e, q)
	}
	return handle
}

func itself(_ context.Context, object client.Object) []v1alpha1.StreamTransfer {
	if transfer, ok := object.(*v1alpha1.StreamTransfer); ok {
		return []v1alpha1.StreamTransfer{*transfer}
	}
	return nil
}

// ofStream returns the transfers of a stream that have not ended.
func (r *Reconciler) ofStream(ctx context.Context, object client.Object) []v1alpha1.StreamTransfer {
	return r.open(ctx, client.InNamespace(object.GetNamespace()), client.MatchingFields{openByStream: object.GetName()})
}

// ofTarget returns the transfers to a node that have not ended.
func (r *Reconciler) ofTarget(ctx context.Context, object client.Object) []v1alpha1.StreamTransfer {
	return r.open(ctx, client.MatchingFields{openByTarget: object.GetName()})
}

func (r *Reconciler) open(ctx context.Context, options ...client.ListOption) []v1alpha1.StreamTransfer {
	list := &v1alpha1.StreamTransferList{}
	if err := r.Client.List(ctx, list, options...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot list transfers")
		return nil
	}
	return list.Items
}
