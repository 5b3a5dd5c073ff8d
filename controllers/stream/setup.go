package stream

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// workers reconcile different streams at the same time. A proposal takes some milliseconds, nearly all of it waiting.
const workers = 16

// unplacedIndex has the streams without owner under one key.
const unplacedIndex = "unplaced"

// SetupWithManager registers the controller and the index that it needs.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.Stream{}, unplacedIndex, func(object client.Object) []string {
		if stream, ok := object.(*v1alpha1.Stream); ok && stream.Status.Node == "" {
			return []string{"true"}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indexing streams: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("stream").
		For(&v1alpha1.Stream{}).
		Watches(&v1alpha1.StreamNode{}, handler.EnqueueRequestsFromMapFunc(r.unplaced)).
		Watches(&v1alpha1.StreamTransfer{}, handler.EnqueueRequestsFromMapFunc(ofTransfer)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the stream controller: %w", err)
	}
	return nil
}

// unplaced returns every stream that waits for a node: a node that changed may be the one.
func (r *Reconciler) unplaced(ctx context.Context, _ client.Object) []reconcile.Request {
	list := &v1alpha1.StreamList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{unplacedIndex: "true"}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot list streams without owner")
		return nil
	}
	requests := make([]reconcile.Request, 0, len(list.Items))
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// ofTransfer returns the stream that a transfer names: with its transfer gone, a pending record is withdrawn.
func ofTransfer(_ context.Context, object client.Object) []reconcile.Request {
	transfer, ok := object.(*v1alpha1.StreamTransfer)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: transfer.Namespace, Name: transfer.Spec.Stream}}}
}
