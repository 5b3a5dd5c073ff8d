package placement

import (
	"slices"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// NodeSignals are what tells that streams shall leave a node.
type NodeSignals struct {
	// Unschedulable is StreamNode.spec.unschedulable, Cordoned the Kubernetes node's spec.unschedulable.
	Unschedulable, Cordoned bool
	// Taints are the keys of the Kubernetes node's taints.
	Taints []string
	// Stopping tells that the agent is about to end.
	Stopping bool
	// Terminating tells that the Kubernetes node is being deleted.
	Terminating bool
}

// DefaultDrainTaints are the taints that drain a node: kubectl cordon's, Cluster Autoscaler's, and Karpenter's.
func DefaultDrainTaints() []string {
	return []string{
		"node.kubernetes.io/unschedulable", "ToBeDeletedByClusterAutoscaler",
		"karpenter.sh/disrupted", "karpenter.sh/disruption",
	}
}

// doubtTaints are those of nodes that an autoscaler looks at to remove them, and may keep all the same.
var doubtTaints = []string{"DeletionCandidateOfClusterAutoscaler"}

// Doubt returns in a few words why a node that need not be drained is likely to be, before long; empty: it is not.
func Doubt(signals NodeSignals) string {
	for _, taint := range signals.Taints {
		if slices.Contains(doubtTaints, taint) {
			return "is a candidate for removal by an autoscaler"
		}
	}
	return ""
}

// DrainIntent returns whether streams shall leave a node, as the reason and message of condition Draining; an empty
// reason: they need not. It is derived from the node each time and never stored, so that uncordon withdraws it.
func DrainIntent(signals NodeSignals, drainTaints []string) (reason, message string) {
	switch {
	case signals.Unschedulable:
		return v1alpha1.ReasonUnschedulable, "spec.unschedulable is set."
	case signals.Cordoned:
		return v1alpha1.ReasonNodeCordoned, "The Kubernetes node is cordoned."
	case signals.Terminating:
		return v1alpha1.ReasonNodeTerminating, "The Kubernetes node is being deleted."
	case signals.Stopping:
		return v1alpha1.ReasonStopping, "The agent is about to end."
	}
	for _, taint := range signals.Taints {
		if slices.Contains(drainTaints, taint) {
			return v1alpha1.ReasonTainted, "The Kubernetes node has the taint " + taint + "."
		}
	}
	return "", ""
}
