package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RebalanceStrategy says which load a rebalance evens out.
// +kubebuilder:validation:Enum=Count;Bytes;Requests;Weighted
type RebalanceStrategy string

// Rebalance strategies. Weighted counts each of the three kinds of load alike.
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

// ZonePolicy says whether a rebalance may take a stream to another zone.
// +kubebuilder:validation:Enum=Any;Keep
type ZonePolicy string

// Zone policies. A node's zone is its label topology.kubernetes.io/zone.
const (
	ZoneAny  ZonePolicy = "Any"
	ZoneKeep ZonePolicy = "Keep"
)

// StreamRebalanceSpec asks for a plan of transfers that evens out load, and for its execution. What the plan follows from is
// immutable where it is made once: another plan is another StreamRebalance. With a schedule the next plan follows a change.
type StreamRebalanceSpec struct {
	// Selector chooses the streams of the namespace that may be transferred. Absent: all. A stream whose spec.nodeName is set
	// is never transferred: its place is written down.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// NodeSelector limits the nodes that take part to those whose StreamNode has all of these labels.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	NodeSelector map[string]LabelValue `json:"nodeSelector,omitempty"`

	// Zones says whether streams may go to another zone.
	// +optional
	// +kubebuilder:default=Any
	Zones ZonePolicy `json:"zones,omitempty"`

	// Strategy says which load is evened out. A node's fair share is proportional to its slots.
	// +optional
	// +kubebuilder:default=Count
	Strategy RebalanceStrategy `json:"strategy,omitempty"`

	// ThresholdPercent is the distance from its fair share at which a node counts as uneven. Once one does, the plan brings
	// all of them within half of it.
	// +optional
	// +kubebuilder:default=20
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	ThresholdPercent int32 `json:"thresholdPercent,omitempty"`

	// MaxMoves bounds the transfers of one plan.
	// +optional
	// +kubebuilder:default=100
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	MaxMoves int32 `json:"maxMoves,omitempty"`

	// MaxMovesPerNode bounds those from one node, and those to one node; 0: no bound.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000
	MaxMovesPerNode int32 `json:"maxMovesPerNode"`

	// MaxInFlight bounds the transfers that run at the same time.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	MaxInFlight int32 `json:"maxInFlight,omitempty"`

	// CoolDownSeconds is for how long a stream stays after a transfer, whatever made that. A stream that is transferred again
	// soon after stays twice as long, at most 24 hours.
	// +optional
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	CoolDownSeconds int32 `json:"coolDownSeconds"`

	// MinNodeAgeSeconds is for how long a node's agent must have run before the node gets streams.
	// +optional
	// +kubebuilder:default=300
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	MinNodeAgeSeconds int32 `json:"minNodeAgeSeconds"`

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
	MaxStalePercent int32 `json:"maxStalePercent"`

	// Schedule makes plans again and again, at these times: five fields as of cron. Absent: one plan, at once.
	// +optional
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=128
	Schedule string `json:"schedule"`

	// TimeZone of the schedule, as in the tz database. Absent: UTC.
	// +optional
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone"`

	// WindowMinutes is for how long after a time of the schedule transfers may start; what has not started by then is left
	// out. 0: until the next time.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10080
	WindowMinutes int32 `json:"windowMinutes"`

	// Suspend stops what has not started.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// RebalancePhase is a one-word summary for people. Nothing decides by it.
// +kubebuilder:validation:Enum=Planning;AwaitingApproval;Executing;Succeeded;Failed;Stopped;Stale
type RebalancePhase string

// Rebalance phases.
const (
	RebalancePlanning         RebalancePhase = "Planning"
	RebalanceAwaitingApproval RebalancePhase = "AwaitingApproval"
	RebalanceExecuting        RebalancePhase = "Executing"
	RebalanceSucceeded        RebalancePhase = "Succeeded"
	RebalanceFailed           RebalancePhase = "Failed"
	RebalanceStopped          RebalancePhase = "Stopped"
	RebalanceStale            RebalancePhase = "Stale"
)

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
	// CoolDownSeconds is for how long the stream stays afterwards.
	// +optional
	CoolDownSeconds int32 `json:"coolDownSeconds,omitempty"`
}

// MoveOutcome is a move that did not come to what was planned, and why.
type MoveOutcome struct {
	// +kubebuilder:validation:MaxLength=253
	Stream string `json:"stream"`
	// Reason in one word.
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason"`
	// Message in one sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
}

// RebalanceRun is how far one plan is carried out. Moves are settled in their order, so that few numbers tell of all.
type RebalanceRun struct {
	// PlannedAt is when the plan was made; of a schedule, the time that it was due.
	PlannedAt metav1.Time `json:"plannedAt"`
	// StartedAt is when the first transfer was made or looked for.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// EndedAt is when the outcome was recorded.
	// +optional
	EndedAt *metav1.Time `json:"endedAt,omitempty"`
	// Settled is the number of moves, from the first on, whose outcome is counted.
	// +optional
	Settled int32 `json:"settled,omitempty"`
	// Succeeded, Skipped and Failed count the outcomes of those.
	// +optional
	Succeeded int32 `json:"succeeded,omitempty"`
	// +optional
	Skipped int32 `json:"skipped,omitempty"`
	// +optional
	Failed int32 `json:"failed,omitempty"`
}

// StreamRebalanceStatus is the plan and what became of it.
type StreamRebalanceStatus struct {
	// ObservedGeneration is the generation of the spec that the conditions speak of; -1 before the first look.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration"`
	// +optional
	Phase RebalancePhase `json:"phase,omitempty"`
	// PlanHash names the plan. The whole of it is in the ControllerRevision NAME-HASH.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	PlanHash string `json:"planHash,omitempty"`
	// Planned is the number of the plan's moves.
	// +optional
	Planned int32 `json:"planned,omitempty"`
	// ImbalancePercent is the largest distance of a node from its fair share, before the plan and as it is after it.
	// +optional
	ImbalancePercent *Imbalance `json:"imbalancePercent,omitempty"`
	// Run is how far the plan is carried out.
	// +optional
	Run *RebalanceRun `json:"run,omitempty"`
	// NextRun is when the schedule makes the next plan.
	// +optional
	NextRun *metav1.Time `json:"nextRun,omitempty"`
	// Moves are the first 10 of the plan.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Moves []RebalanceMove `json:"moves,omitempty"`
	// Exceptions are the first 5 moves that were skipped or failed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	Exceptions []MoveOutcome `json:"exceptions,omitempty"`
	// Conditions: Ready, Reconciling, Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Imbalance is in percent of the fair share.
type Imbalance struct {
	Before int32 `json:"before"`
	After  int32 `json:"after"`
}

// StreamRebalance plans transfers that even out the load of the nodes, and carries them out once they are approved. Without a
// schedule it does so once: with Ready or Stalled True its status never changes again.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=strmr,categories=streaming
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Plan",type=string,JSONPath=`.status.planHash`
// +kubebuilder:printcolumn:name="Planned",type=integer,JSONPath=`.status.planned`
// +kubebuilder:printcolumn:name="Succeeded",type=integer,JSONPath=`.status.run.succeeded`
// +kubebuilder:printcolumn:name="Skipped",type=integer,JSONPath=`.status.run.skipped`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.run.failed`
// +kubebuilder:printcolumn:name="Next",type=date,JSONPath=`.status.nextRun`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status.phase) || !(oldSelf.status.phase in ['Succeeded', 'Failed', 'Stale']) || size(self.spec.schedule) > 0 || (self.status.phase == oldSelf.status.phase && has(self.status.conditions) && self.status.conditions == oldSelf.status.conditions && has(self.status.run) && self.status.run == oldSelf.status.run)",message="a finished rebalance without a schedule never changes again"
// +kubebuilder:validation:XValidation:rule="(size(self.spec.schedule) > 0 && size(oldSelf.spec.schedule) > 0) || (has(self.spec.selector) == has(oldSelf.spec.selector) && (!has(self.spec.selector) || self.spec.selector == oldSelf.spec.selector) && has(self.spec.nodeSelector) == has(oldSelf.spec.nodeSelector) && (!has(self.spec.nodeSelector) || self.spec.nodeSelector == oldSelf.spec.nodeSelector) && self.spec.strategy == oldSelf.spec.strategy && self.spec.zones == oldSelf.spec.zones && self.spec.thresholdPercent == oldSelf.spec.thresholdPercent && self.spec.maxMoves == oldSelf.spec.maxMoves && self.spec.maxMovesPerNode == oldSelf.spec.maxMovesPerNode && self.spec.coolDownSeconds == oldSelf.spec.coolDownSeconds && self.spec.minNodeAgeSeconds == oldSelf.spec.minNodeAgeSeconds && self.spec.schedule == oldSelf.spec.schedule && self.spec.timeZone == oldSelf.spec.timeZone)",message="what a plan follows from is immutable without a schedule; only maxInFlight, approval, approvedPlan, maxStalePercent, windowMinutes and suspend may change: make another StreamRebalance"
// +kubebuilder:validation:XValidation:rule="size(self.spec.schedule) > 0 || self.spec.windowMinutes == 0",message="windowMinutes needs a schedule, whose times begin the window"
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 200",message="the name may have at most 200 characters: names of plans are made from it"
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
