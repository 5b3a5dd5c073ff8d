package guard

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/slots"
	"github.com/streamshift/streamshift/internal/condition"
)

// Mode says how an eviction of the guard waits for the node's streams.
type Mode string

const (
	// Strict has a PodDisruptionBudget refuse the eviction. Autoscalers leave such a node alone where they may choose.
	Strict Mode = "Strict"
	// Graceful lets the eviction begin; the pod ends when the streams have left, or when its termination grace period is over.
	Graceful Mode = "Graceful"
	// Off has no guards: whoever drains a node waits for condition Drained.
	Off Mode = "Off"
)

// view is everything that a decision about a node's guard is made from.
type view struct {
	mode Mode
	node *v1alpha1.StreamNode
	// kubernetesNode of the same name; nil where there is none.
	kubernetesNode *corev1.Node
	// leaving tells that streams shall leave the node.
	leaving bool
	usage   slots.Usage
	pod     *corev1.Pod
	budget  *policyv1.PodDisruptionBudget
	// wanted is the pod as it should be.
	wanted *corev1.Pod
}

// action is the one thing that is done about a guard.
type action int

const (
	nothing action = iota
	makeBudget
	liftBudget
	makePod
	deletePod
)

// decide is pure. It returns what to do next, and why. The budget goes before the pod, and comes before it: a guard must never be ready
// without one.
func decide(v *view) (action, string) {
	guarded := v.mode != Off && v.kubernetesNode != nil && v.busy()
	switch {
	case v.budget != nil && (!guarded || v.mode != Strict):
		return liftBudget, "The node holds no stream that an eviction must wait for."
	case v.pod != nil && v.pod.DeletionTimestamp != nil:
		return nothing, "The guard is ending."
	case v.pod != nil && !guarded:
		return deletePod, "The node holds no stream."
	case !guarded:
		return nothing, "The node holds no stream."
	}
	return decideGuarded(v)
}

// decideGuarded: the node holds streams, or is to get some.
func decideGuarded(v *view) (action, string) {
	switch {
	case v.pod != nil && (v.pod.Status.Phase == corev1.PodFailed || v.pod.Status.Phase == corev1.PodSucceeded):
		return deletePod, "The guard has ended."
	case v.pod == nil && v.leaving:
		// A pod that comes back on a cordoned node keeps kubectl drain from ending.
		return nothing, "Streams are leaving already."
	case v.budget == nil && v.mode == Strict:
		return makeBudget, "The node holds streams."
	case v.pod == nil:
		return makePod, "The node holds streams."
	case v.pod.Annotations[annotationSpec] != v.wanted.Annotations[annotationSpec] && !v.leaving:
		return deletePod, "The guard is to be made anew."
	}
	return nothing, "The guard is as it should be."
}

// busy tells whether the node owns a stream, is to get one, or says itself that it has one open.
func (v *view) busy() bool {
	return v.usage.Owned+v.usage.Inbound > 0 || v.node.Status.HoldsSessions && !condition.NodeGone(v.node)
}
