package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RebalanceStrategy says which load a rebalance equalises.
// +kubebuilder:validation:Enum=Count;Bytes;Requests;Weighted
type RebalanceStrategy string

// Rebalance strategies.
const (
	RebalanceCount    RebalanceStrategy = "Count"
	RebalanceBytes    RebalanceStrategy = "Bytes"
	RebalanceRequests RebalanceStrategy = "Requests"
	RebalanceWeighted RebalanceStrategy = "Weighted"
)

// Approval says who lets a plan run.
// +kubebuilder:validation:Enum=Auto;Manual
type Approval string

// Approvals.
const (
	ApprovalAuto   Approval = "Auto"
	ApprovalManual Approval = "Manual"
)

// StreamRebalanceSpec asks for a plan of transfers that evens out load, and for its execution.
type StreamRebalanceSpec struct {
	// Selector chooses the streams of the namespace that may be transferred. Absent: all.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// Strategy says which load is evened out.
	// +optional
	// +kubebuilder:default=Count
	Strategy RebalanceStrategy `json:"strategy,omitempty"`

	// ThresholdPercent is the distance from the mean load at which a node counts as uneven.
	// +optional
	// +kubebuilder:default=10
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	ThresholdPercent int32 `json:"thresholdPercent,omitempty"`

	// MaxMoves bounds the transfers of one plan.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxMoves int32 `json:"maxMoves,omitempty"`

	// MaxInFlight bounds the transfers that run at the same time.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	MaxInFlight int32 `json:"maxInFlight,omitempty"`

	// Approval says who lets the plan run.
	// +optional
	// +kubebuilder:default=Manual
	Approval Approval `json:"approval,omitempty"`

	// ApprovedPlan is the hash of the plan that may run, with approval Manual.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	ApprovedPlan string `json:"approvedPlan,omitempty"`

	// MaxStalePercent of the plan's moves may have become stale before the whole plan counts as stale.
	// +optional
	// +kubebuilder:default=20
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxStalePercent int32 `json:"maxStalePercent,omitempty"`

	// Suspend stops what has not started.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// RebalancePhase is a one-word summary for people. Nothing decides by it.
// +kubebuilder:validation:Enum=Planning;AwaitingApproval;Executing;Succeeded;Failed;Stopped;Stale
type RebalancePhase string

// RebalanceMove is one transfer of a plan.
type RebalanceMove struct {
	// +kubebuilder:validation:MaxLength=253
	Stream string `json:"stream"`
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	StreamUID types.UID `json:"streamUID"`
	// +kubebuilder:validation:MaxLength=253
	Source string `json:"source"`
	// +kubebuilder:validation:MaxLength=253
	Target string `json:"target"`
	// Epoch of the stream that the move was computed from: a stream that has gone on since is not transferred.
	Epoch int64 `json:"epoch"`
}

// StreamRebalanceStatus is the plan and what became of it.
type StreamRebalanceStatus struct {
	// ObservedGeneration is the generation of the spec that the conditions speak of; -1 before the first look.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration"`
	// +optional
	Phase RebalancePhase `json:"phase,omitempty"`
	// PlanHash names the plan.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	PlanHash string `json:"planHash,omitempty"`
	// Planned, Succeeded, Skipped and Failed count the plan's moves.
	// +optional
	Planned int32 `json:"planned,omitempty"`
	// +optional
	Succeeded int32 `json:"succeeded,omitempty"`
	// +optional
	Skipped int32 `json:"skipped,omitempty"`
	// +optional
	Failed int32 `json:"failed,omitempty"`
	// Moves are the first 20 of the plan.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Moves []RebalanceMove `json:"moves,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StreamRebalance plans transfers that even out the load of the nodes. Its controller does not exist yet.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=strmr,categories=streaming
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Plan",type=string,JSONPath=`.status.planHash`
// +kubebuilder:printcolumn:name="Planned",type=integer,JSONPath=`.status.planned`
// +kubebuilder:printcolumn:name="Succeeded",type=integer,JSONPath=`.status.succeeded`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type StreamRebalance struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	// +kubebuilder:default={}
	Spec StreamRebalanceSpec `json:"spec,omitempty"`
	// +optional
	// +kubebuilder:default={}
	Status StreamRebalanceStatus `json:"status,omitempty"`
}

// StreamRebalanceList is a list of rebalances.
// +kubebuilder:object:root=true
type StreamRebalanceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []StreamRebalance `json:"items"`
}
