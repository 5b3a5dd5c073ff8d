package drain

import (
	"context"
	"fmt"
	"time"

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
	"github.com/streamshift/streamshift/internal/handoff"
	"github.com/streamshift/streamshift/internal/placement"
)

const (
	ownerIndex = "owner"
	stateIndex = "stateOfDrain"
	areOpen    = "are open"
	haveFailed = "have failed"
	// gather is how long events are gathered before a pass: a pass looks at everything once. It is a fraction of what a transfer takes.
	gather = 25 * time.Millisecond
)

// everything is the one request: a pass looks at all nodes.
var everything = reconcile.Request{NamespacedName: types.NamespacedName{Name: "everything"}}

type requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// firstShare is how many transfers at the same time a target gets before anything is known of it.
const firstShare = 4

// SetupWithManager registers the controller and its indexes.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	r.pace.pace = placement.Pace{First: firstShare, Limit: r.Limits.PerTarget, Slow: r.SlowAfter}
	indexer := mgr.GetFieldIndexer()
	err := indexer.IndexField(ctx, &v1alpha1.Stream{}, ownerIndex, func(object client.Object) []string {
		if stream, ok := object.(*v1alpha1.Stream); ok && stream.Status.Node != "" {
			return []string{stream.Status.Node}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indexing streams by owner: %w", err)
	}
	err = indexer.IndexField(ctx, &v1alpha1.StreamTransfer{}, stateIndex, func(object client.Object) []string {
		if transfer, ok := object.(*v1alpha1.StreamTransfer); ok && stateOf(transfer) != "" {
			return []string{stateOf(transfer)}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indexing transfers: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("drain").
		Watches(&v1alpha1.StreamNode{}, whenever()).
		Watches(&corev1.Node{}, whenever()).
		Watches(&v1alpha1.StreamTransfer{}, r.whenTransfersChange()).
		Watches(&v1alpha1.Stream{}, whenPlacesChange()).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the drain controller: %w", err)
	}
	return nil
}

func whenever() handler.Funcs {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, q requests) { q.AddAfter(everything, gather) },
		UpdateFunc: func(_ context.Context, _ event.UpdateEvent, q requests) { q.AddAfter(everything, gather) },
		DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q requests) { q.AddAfter(everything, gather) },
	}
}

// whenTransfersChange also takes in how long a transfer kept requests waiting, once it has ended.
func (r *Reconciler) whenTransfersChange() handler.EventHandler {
	all := whenever()
	all.UpdateFunc = func(_ context.Context, e event.UpdateEvent, q requests) {
		old, okOld := e.ObjectOld.(*v1alpha1.StreamTransfer)
		next, okNext := e.ObjectNew.(*v1alpha1.StreamTransfer)
		if okOld && okNext && !handoff.Terminal(old) && handoff.Terminal(next) {
			r.pace.ended(next, r.Now())
		}
		q.AddAfter(everything, gather)
	}
	return all
}

// whenPlacesChange leaves out what a stream does at its owner.
func whenPlacesChange() handler.EventHandler {
	all := whenever()
	all.UpdateFunc = func(_ context.Context, e event.UpdateEvent, q requests) {
		old, okOld := e.ObjectOld.(*v1alpha1.Stream)
		next, okNext := e.ObjectNew.(*v1alpha1.Stream)
		if !okOld || !okNext {
			return
		}
		oldOwner, oldTarget := slots.Places(old)
		owner, target := slots.Places(next)
		if oldOwner != owner || oldTarget != target {
			q.AddAfter(everything, gather)
		}
	}
	return all
}
