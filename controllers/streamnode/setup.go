package streamnode

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// countEvery is how often a node's counters are written at most while streams come and go.
const countEvery = time.Second

// SetupWithManager registers the controller. Counted delivers the names of nodes whose usage of slots changed.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, counted <-chan event.TypedGenericEvent[string]) error {
	byName := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: object.GetName()}}}
	})
	err := ctrl.NewControllerManagedBy(mgr).
		Named("streamnode").
		For(&v1alpha1.StreamNode{}).
		Watches(&corev1.Node{}, byName).
		Watches(&coordinationv1.Lease{}, byName).
		WatchesRawSource(source.TypedChannel(counted, handler.TypedFuncs[string, reconcile.Request]{
			GenericFunc: func(_ context.Context, e event.TypedGenericEvent[string], queue workqueue.TypedRateLimitingInterface[reconcile.Request]) {
				queue.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: e.Object}}, countEvery)
			},
		})).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the node controller: %w", err)
	}
	return nil
}
