package nodename

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

const (
	// elsewhereIndex has the streams that are wanted on another node than their owner's.
	elsewhereIndex = "wantedElsewhere"
	// gather is how long events are gathered before a pass.
	gather = 10 * time.Millisecond
)

// everything is the one request: a pass looks at all streams that are wanted elsewhere.
var everything = reconcile.Request{NamespacedName: types.NamespacedName{Name: "everything"}}

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// elsewhere tells whether a stream is wanted on another node than its owner's.
func elsewhere(stream *v1alpha1.Stream) bool {
	return stream.Status.Node != "" && stream.Spec.NodeName != "" && stream.Spec.NodeName != stream.Status.Node && stream.DeletionTimestamp.IsZero()
}

// SetupWithManager registers the controller and its index. The index transfers.OpenIndex must be there.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.Stream{}, elsewhereIndex, func(object client.Object) []string {
		if stream, ok := object.(*v1alpha1.Stream); ok && elsewhere(stream) {
			return []string{"true"}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indexing streams: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("nodename").
		Watches(&v1alpha1.Stream{}, whenElsewhere()).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the controller of spec.nodeName: %w", err)
	}
	return nil
}

// whenElsewhere wakes for streams that are wanted elsewhere, or were until now. What they wait for is looked at regularly.
func whenElsewhere() handler.EventHandler {
	wake := func(q requests, objects ...client.Object) {
		for _, object := range objects {
			if stream, ok := object.(*v1alpha1.Stream); ok && elsewhere(stream) {
				q.AddAfter(everything, gather)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q requests) { wake(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q requests) { wake(q, e.ObjectOld, e.ObjectNew) },
	}
}
