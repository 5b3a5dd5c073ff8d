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

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/slots"
)

// countEvery is how often a node's counters are written at most while streams come and go.
const countEvery = time.Second

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	byName := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{requestFor(object.GetName())}
	})
	err := ctrl.NewControllerManagedBy(mgr).
		Named("streamnode").
		For(&v1alpha1.StreamNode{}).
		Watches(&corev1.Node{}, byName).
		Watches(&coordinationv1.Lease{}, byName).
		Watches(&v1alpha1.Stream{}, countStreams()).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the node controller: %w", err)
	}
	return nil
}

// countStreams has the nodes counted on which a stream takes a slot, or took one before the event; not at once, so that
// many events make one write.
func countStreams() handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	count := func(q queue, objects ...client.Object) {
		for _, object := range objects {
			for _, node := range placesOf(object) {
				if node != "" {
					q.AddAfter(requestFor(node), countEvery)
				}
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { count(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if placesOf(e.ObjectOld) != placesOf(e.ObjectNew) {
				count(q, e.ObjectOld, e.ObjectNew)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { count(q, e.Object) },
	}
}

// placesOf returns the owner of a stream and the target of its pending transfer; empty where there is none.
func placesOf(object client.Object) [2]string {
	stream, ok := object.(*v1alpha1.Stream)
	if !ok {
		return [2]string{}
	}
	owner, target := slots.Places(stream)
	return [2]string{owner, target}
}

func requestFor(node string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: node}}
}
