package condition

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// NodeUnfit says in a few words why a node takes no streams now; empty where it does.
func NodeUnfit(node *v1alpha1.StreamNode) string {
	switch conditions := node.Status.Conditions; {
	case !node.DeletionTimestamp.IsZero():
		return "is being removed"
	case !IsTrue(conditions, v1alpha1.ConditionReady):
		return "is not ready"
	case node.Spec.Unschedulable || !IsTrue(conditions, v1alpha1.ConditionSchedulable):
		return "is unschedulable"
	}
	return ""
}

// NodeGone tells whether a node cannot be expected to do anything: the manager found its lease run out, or its
// Kubernetes node marked out of service.
func NodeGone(node *v1alpha1.StreamNode) bool {
	ready, found := Get(node.Status.Conditions, v1alpha1.ConditionReady)
	if !found || ready.Status == metav1.ConditionTrue {
		return false
	}
	return ready.Reason == v1alpha1.ReasonLeaseExpired || ready.Reason == v1alpha1.ReasonOutOfService
}
