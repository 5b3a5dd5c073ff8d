package route

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/routing"
)

// workers take in different streams at the same time. It is a lookup in memory each: one could do it, a second keeps
// going while the first is not scheduled.
const workers = 2

// CacheOptions returns what a gateway's cache holds: of each object only what a route is made from.
func CacheOptions() cache.Options {
	return cache.Options{DefaultTransform: trim}
}

// trim drops what a gateway never reads.
func trim(object any) (any, error) {
	switch o := object.(type) {
	case *v1alpha1.Stream:
		o.ManagedFields, o.Annotations, o.Labels = nil, nil, nil
		o.Spec = v1alpha1.StreamSpec{}
		o.Status.LastTransfer, o.Status.Conditions = nil, nil
	case *v1alpha1.StreamNode:
		o.ManagedFields, o.Annotations, o.Labels = nil, nil, nil
	}
	return object, nil
}

// SetupWithManager registers what feeds the table.
func SetupWithManager(mgr ctrl.Manager, table *routing.Table) error {
	everyReplica := false // a gateway elects no leader
	options := controller.Options{MaxConcurrentReconciles: workers, NeedLeaderElection: &everyReplica}
	streams := &StreamReconciler{Client: mgr.GetClient(), Table: table}
	if err := register(mgr, "route-stream", &v1alpha1.Stream{}, options, streams); err != nil {
		return err
	}
	nodes := &NodeReconciler{Client: mgr.GetClient(), Table: table}
	return register(mgr, "route-node", &v1alpha1.StreamNode{}, options, nodes)
}

func register(mgr ctrl.Manager, name string, kind client.Object, options controller.Options, r reconcile.Reconciler) error {
	if err := ctrl.NewControllerManagedBy(mgr).Named(name).For(kind).WithOptions(options).Complete(r); err != nil {
		return fmt.Errorf("setting up controller %s: %w", name, err)
	}
	return nil
}
