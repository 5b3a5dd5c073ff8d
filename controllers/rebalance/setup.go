package rebalance

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/handoff"
)

// workers reconcile different rebalances at the same time.
const workers = 4

// SetupWithManager registers the controller. The index transfers.OpenIndex must be there.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("streamrebalance").
		For(&v1alpha1.StreamRebalance{}).
		Watches(&v1alpha1.StreamTransfer{}, handler.EnqueueRequestsFromMapFunc(rebalanceOf)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the rebalance controller: %w", err)
	}
	return nil
}

// rebalanceOf returns the rebalance of a transfer that has ended: its place is free for the next one. A name that was too long for a
// label wakes nobody; the pass that follows a second later finds it out.
func rebalanceOf(_ context.Context, object client.Object) []reconcile.Request {
	transfer, ok := object.(*v1alpha1.StreamTransfer)
	if !ok || transfer.Labels[v1alpha1.LabelRebalance] == "" || !handoff.Terminal(transfer) {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: transfer.Namespace, Name: transfer.Labels[v1alpha1.LabelRebalance]}}}
}
