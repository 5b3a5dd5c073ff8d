package route

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/routing"
)

// +kubebuilder:rbac:groups=streamshift.io,resources=streams,verbs=get;list;watch

// StreamReconciler takes the register of each stream into the table.
type StreamReconciler struct {
	Client client.Reader
	Table  *routing.Table
}

// Reconcile observes one stream and takes it in.
func (r *StreamReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	name := routing.Stream{Namespace: request.Namespace, Name: request.Name}
	stream := &v1alpha1.Stream{}
	switch err := r.Client.Get(ctx, request.NamespacedName, stream); {
	case apierrors.IsNotFound(err):
		r.Table.Remove(name)
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("observing stream %s: %w", request, err)
	}
	r.Table.Apply(name, routeOf(stream))
	return ctrl.Result{}, nil
}

// routeOf returns what a register says about where requests go.
func routeOf(stream *v1alpha1.Stream) routing.Route {
	register := &stream.Status
	route := routing.Route{UID: string(stream.UID), Epoch: register.Epoch, Owner: register.Node}
	pending, last := register.PendingTransfer, register.LastTransfer
	switch {
	case pending != nil:
		route.Target, route.Transfer = pending.Target, string(pending.UID)
	case last != nil && register.State == v1alpha1.StreamOpening && last.ClosedEpoch == register.Epoch-1:
		route.Transfer = string(last.UID)
	}
	return route
}

// +kubebuilder:rbac:groups=streamshift.io,resources=streamnodes,verbs=get;list;watch

// NodeReconciler takes the address and the readiness of each node into the table.
type NodeReconciler struct {
	Client client.Reader
	Table  *routing.Table
}

// Reconcile observes one node and takes it in.
func (r *NodeReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	node := &v1alpha1.StreamNode{}
	switch err := r.Client.Get(ctx, request.NamespacedName, node); {
	case apierrors.IsNotFound(err):
		r.Table.RemoveNode(request.Name)
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("observing node %s: %w", request.Name, err)
	}
	r.Table.SetNode(request.Name, routing.NodeState{
		Address: node.Status.Address,
		Ready:   condition.IsTrue(node.Status.Conditions, v1alpha1.ConditionReady),
	})
	return ctrl.Result{}, nil
}
