package streamtransfer

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// priorityOf says whose turn is first where more transfers wait than the controller can look at: streams that nobody serves,
// then nodes that are to be emptied, then what people asked for, then what makes things nicer.
func priorityOf(transfer *v1alpha1.StreamTransfer) int {
	switch transfer.Labels[v1alpha1.LabelCause] {
	case v1alpha1.CauseTakeover, v1alpha1.CauseCannotOpen:
		return 30
	case v1alpha1.CauseDrain:
		return 20
	case v1alpha1.CauseRebalance:
		return 0
	}
	return 10 // a person's, or one that follows from a stream's spec
}

// byPriority enqueues the transfers that an object has to do with.
func byPriority(of func(context.Context, client.Object) []v1alpha1.StreamTransfer) handler.Funcs {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	enqueue := func(ctx context.Context, q queue, object client.Object) {
		transfers := of(ctx, object)
		for i := range transfers {
			request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&transfers[i])}
			if ranked, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
				ranked.AddWithOpts(priorityqueue.AddOpts{Priority: new(priorityOf(&transfers[i]))}, request)
			} else {
				q.Add(request)
			}
		}
	}
	return handler.Funcs{
		CreateFunc:  func(ctx context.Context, e event.CreateEvent, q queue) { enqueue(ctx, q, e.Object) },
		UpdateFunc:  func(ctx context.Context, e event.UpdateEvent, q queue) { enqueue(ctx, q, e.ObjectNew) },
		DeleteFunc:  func(ctx context.Context, e event.DeleteEvent, q queue) { enqueue(ctx, q, e.Object) },
		GenericFunc: func(ctx context.Context, e event.GenericEvent, q queue) { enqueue(ctx, q, e.Object) },
	}
}
