package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StreamNodeSpec is what a user wants of a node. The agent sets it when it registers the node, and never again.
type StreamNodeSpec struct {
	// Slots is the number of streams that the node may hold.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Slots int32 `json:"slots"`

	// Unschedulable keeps streams from being placed on the node, and drains it.
	// +optional
	Unschedulable bool `json:"unschedulable,omitempty"`
}

// StreamNodeStatus is what is known of a node.
type StreamNodeStatus struct {
	// ObservedGeneration is the generation of the spec that the conditions speak of; -1 before the first look.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration"`

	// Address is the base URL under which the node's agent serves streams. Written by the agent.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Address string `json:"address,omitempty"`

	// Instance names the run of the agent process that registered last. Written by the agent.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Instance string `json:"instance,omitempty"`

	// StartedAt is when that run started, by its clock. Written by the agent.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`

	// HoldsSessions tells whether the agent has any session of a stream open. Written by the agent.
	// +optional
	HoldsSessions bool `json:"holdsSessions,omitempty"`

	// Stopping tells that the agent is about to end and wants its streams transferred away. Written by the agent.
	// +optional
	Stopping bool `json:"stopping,omitempty"`

	// StopsAt is when the agent will end at the latest, whatever is left on the node. Written by the agent while it is stopping.
	// +optional
	StopsAt *metav1.Time `json:"stopsAt,omitempty"`

	// Drain tells how far the streams are that are to leave the node. Absent while none are.
	// +optional
	Drain *DrainStatus `json:"drain,omitempty"`

	// Streams is the number of streams that the node owns.
	// +optional
	Streams int32 `json:"streams,omitempty"`

	// Inbound is the number of pending transfers to the node.
	// +optional
	Inbound int32 `json:"inbound,omitempty"`

	// Load is what the node's streams do. Written by the agent where it has changed much; absent while they do nothing.
	// +optional
	Load *NodeLoad `json:"load,omitempty"`

	// Conditions: Ready, Schedulable, Draining, Drained, DrainBlocked by the manager, ObjectStoreReachable by the
	// agent.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DrainStatus tells how far the streams are that are to leave a node.
type DrainStatus struct {
	// StartedAt is when the drain was first seen.
	StartedAt metav1.Time `json:"startedAt"`
	// Total is the number of streams that the node owned then, or owned since at most.
	// +optional
	Total int32 `json:"total,omitempty"`
	// Moved and Remaining count the streams that have left, and that have not.
	// +optional
	Moved int32 `json:"moved,omitempty"`
	// +optional
	Remaining int32 `json:"remaining,omitempty"`
	// Failed counts the streams whose last transfer failed and that will be tried again.
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// EstimatedEnd is when the drain will have ended if it goes on as it did until now. Absent before the first stream has left,
	// and where no stream that remains can leave.
	// +optional
	EstimatedEnd *metav1.Time `json:"estimatedEnd,omitempty"`
	// Late counts the streams that are expected not to have left when the agent ends: they are taken over afterwards.
	// +optional
	Late int32 `json:"late,omitempty"`
	// Blocked counts the streams that cannot leave now; the first of them are in Blockers.
	// +optional
	Blocked int32 `json:"blocked,omitempty"`
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Blockers []DrainBlocker `json:"blockers,omitempty"`
}

// DrainBlocker is a stream that cannot leave its node, and why.
type DrainBlocker struct {
	// Stream is namespace/name.
	// +kubebuilder:validation:MaxLength=512
	Stream string `json:"stream"`
	// Reason in one word.
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// Message in one sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// StreamNode is the agent on one Kubernetes Node, whose name it has, with its slots for streams.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=strmn,categories=streaming
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Schedulable",type=string,JSONPath=`.status.conditions[?(@.type=="Schedulable")].status`
// +kubebuilder:printcolumn:name="Draining",type=string,JSONPath=`.status.conditions[?(@.type=="Draining")].status`
// +kubebuilder:printcolumn:name="Remaining",type=integer,JSONPath=`.status.drain.remaining`,priority=1
// +kubebuilder:printcolumn:name="Streams",type=integer,JSONPath=`.status.streams`
// +kubebuilder:printcolumn:name="Inbound",type=integer,JSONPath=`.status.inbound`
// +kubebuilder:printcolumn:name="Slots",type=integer,JSONPath=`.spec.slots`
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.status.address`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type StreamNode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec StreamNodeSpec `json:"spec"`
	// +optional
	// +kubebuilder:default={}
	Status StreamNodeStatus `json:"status,omitempty"`
}

// StreamNodeList is a list of nodes.
// +kubebuilder:object:root=true
type StreamNodeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []StreamNode `json:"items"`
}
