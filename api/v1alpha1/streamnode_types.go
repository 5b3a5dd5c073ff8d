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

	// Streams is the number of streams that the node owns.
	// +optional
	Streams int32 `json:"streams,omitempty"`

	// Inbound is the number of pending transfers to the node.
	// +optional
	Inbound int32 `json:"inbound,omitempty"`

	// Conditions: Ready, Schedulable, Draining, Drained, DrainBlocked by the manager, ObjectStoreReachable by the
	// agent.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StreamNode is the agent on one Kubernetes Node, whose name it has, with its slots for streams.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=strmn,categories=streaming
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Schedulable",type=string,JSONPath=`.status.conditions[?(@.type=="Schedulable")].status`
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
