package streamnode

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/slots"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/liveness"
)

// +kubebuilder:rbac:groups=streamshift.io,resources=streamnodes,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=streamshift.io,resources=streamnodes/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;list;watch,namespace=streamshift-node-lease
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler reconciles StreamNodes on the manager.
type Reconciler struct {
	Client      client.Client
	Slots       *slots.Ledger
	Events      events.EventRecorder
	LeaseLimits liveness.Limits
	// Taints are the keys that drain a node.
	Taints []string
	// Labels are the keys of the Kubernetes node's labels that its StreamNode gets, for node selectors and zones.
	Labels []string
	Now    func() time.Time

	leases leases
	// counted is when the counters of each node were written last.
	counted map[string]time.Time
}

// Reconcile observes, decides and acts on one node.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	v, err := r.observe(ctx, request.Name)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observing node %s: %w", request.Name, err)
	}
	if v == nil {
		delete(r.counted, request.Name)
		return ctrl.Result{}, nil
	}
	if err := r.writeLabels(ctx, v); err != nil {
		return ctrl.Result{}, fmt.Errorf("acting on node %s: %w", request.Name, err)
	}
	again, err := r.writeStatus(ctx, v, decide(v))
	if apierrors.IsNotFound(err) {
		return ctrl.Result{}, nil // it is gone, which the watch has yet to tell
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("acting on node %s: %w", request.Name, err)
	}
	if v.lease != nil && (again == 0 || v.lease.Until < again) {
		again = v.lease.Until // a missed renewal makes no event
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// decide is pure: it returns what the manager says about a node.
func decide(v *view) []condition.Condition {
	ready := decideReady(v)
	return []condition.Condition{ready, decideSchedulable(v)}
}

func decideReady(v *view) condition.Condition {
	ready := func(reason, message string) condition.Condition {
		return condition.False(v1alpha1.ConditionReady, reason, message)
	}
	store, reported := condition.Get(v.node.Status.Conditions, v1alpha1.ConditionObjectStoreReachable)
	switch {
	case outOfService(v.kubernetesNode):
		return ready(v1alpha1.ReasonOutOfService, "The Kubernetes node is marked out of service.")
	case v.lease == nil:
		return ready(v1alpha1.ReasonLeaseMissing, "The agent has not made a lease: is it running?")
	case v.lease.Health == liveness.Expired:
		return condition.Unknown(v1alpha1.ConditionReady, v1alpha1.ReasonLeaseExpired,
			"The agent has stopped renewing its lease: it is down, or cut off from the API server.")
	case !reported:
		return ready(v1alpha1.ReasonStoreUnreachable, "The agent has not said yet whether it reaches the object store.")
	case store.Status != "True":
		return ready(v1alpha1.ReasonStoreUnreachable, store.Message)
	}
	return condition.True(v1alpha1.ConditionReady, v1alpha1.ReasonAsExpected, "The agent renews its lease and reaches the object store.")
}

func decideSchedulable(v *view) condition.Condition {
	if v.drainReason != "" {
		return condition.False(v1alpha1.ConditionSchedulable, v.drainReason, v.drainMessage)
	}
	return condition.True(v1alpha1.ConditionSchedulable, v1alpha1.ReasonAsExpected, "The node takes streams.")
}

// outOfService tells whether somebody marked the Kubernetes node as shut down for good.
func outOfService(node *corev1.Node) bool {
	return node != nil && slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == corev1.TaintNodeOutOfService
	})
}
