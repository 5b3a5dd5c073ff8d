package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// StreamTransferSpec asks for one transfer of ownership. It is immutable but for cancel and ttlSecondsAfterFinished: so says a rule of each
// field, which looks no other one up, and one for fields that come or go.
//
// +kubebuilder:validation:XValidation:rule="has(self.source) == has(oldSelf.source) && has(self.expectedEpoch) == has(oldSelf.expectedEpoch) && has(self.deadlineSeconds) == has(oldSelf.deadlineSeconds)",message="a transfer is immutable but for cancel and ttlSecondsAfterFinished: delete it and make another one"
type StreamTransferSpec struct {
	// Stream is the name of the stream, in the transfer's namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a transfer is immutable but for cancel and ttlSecondsAfterFinished: delete it and make another one"
	Stream string `json:"stream"`

	// Target is the node that shall own the stream.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a transfer is immutable but for cancel and ttlSecondsAfterFinished: delete it and make another one"
	Target string `json:"target"`

	// Source, where given, must be the owner when the transfer is accepted; otherwise nothing moves.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a transfer is immutable but for cancel and ttlSecondsAfterFinished: delete it and make another one"
	Source string `json:"source,omitempty"`

	// ExpectedEpoch, where given, must be the stream's epoch when the transfer is accepted; otherwise nothing moves.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a transfer is immutable but for cancel and ttlSecondsAfterFinished: delete it and make another one"
	ExpectedEpoch *int64 `json:"expectedEpoch,omitempty"`

	// DeadlineSeconds after its creation a transfer that is not committed is withdrawn, and the source goes on.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a transfer is immutable but for cancel and ttlSecondsAfterFinished: delete it and make another one"
	DeadlineSeconds *int32 `json:"deadlineSeconds,omitempty"`

	// Force lets the manager take the stream over once the source's lease has run out.
	// +optional
	// +kubebuilder:default=false
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a transfer is immutable but for cancel and ttlSecondsAfterFinished: delete it and make another one"
	Force bool `json:"force"`

	// Cancel withdraws the transfer where it is not committed yet.
	// +optional
	// +kubebuilder:default=false
	// +kubebuilder:validation:XValidation:rule="!oldSelf || self",message="a cancelled transfer stays cancelled: make another one"
	Cancel bool `json:"cancel"`

	// TTLSecondsAfterFinished deletes the finished transfer after that time. Absent: never.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=31536000
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// TransferPhase is a one-word summary for people. Nothing decides by it.
// +kubebuilder:validation:Enum=Pending;Opening;Succeeded;Failed;Cancelled
type TransferPhase string

// Transfer phases.
const (
	TransferPending   TransferPhase = "Pending"
	TransferOpening   TransferPhase = "Opening"
	TransferSucceeded TransferPhase = "Succeeded"
	TransferFailed    TransferPhase = "Failed"
	TransferCancelled TransferPhase = "Cancelled"
)

// StreamTransferStatus is what became of a transfer. Once Ready or Stalled is True it never changes again. It is one value, which
// only the manager writes.
//
// +structType=atomic
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.phase) || !(oldSelf.phase in ['Succeeded', 'Failed', 'Cancelled']) || (has(self.phase) && self.phase == oldSelf.phase && has(self.conditions) && self.conditions == oldSelf.conditions && has(self.epoch) == has(oldSelf.epoch) && (!has(self.epoch) || self.epoch == oldSelf.epoch) && has(self.source) == has(oldSelf.source) && (!has(self.source) || self.source == oldSelf.source) && has(self.openedAt) == has(oldSelf.openedAt) && (!has(self.openedAt) || self.openedAt == oldSelf.openedAt))",message="a finished transfer never changes again"
type StreamTransferStatus struct {
	// ObservedGeneration is the generation of the spec that the conditions speak of; -1 before the first look.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration"`

	// +optional
	Phase TransferPhase `json:"phase,omitempty"`

	// StreamUID is the UID of the stream that the transfer was accepted for.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	StreamUID types.UID `json:"streamUID,omitempty"`

	// Source is the node that owned the stream when the transfer was accepted.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Source string `json:"source,omitempty"`

	// Target is the node that the stream goes to.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Target string `json:"target,omitempty"`

	// Epoch at which the source closed the stream.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Epoch int64 `json:"epoch,omitempty"`

	// Forced tells that the manager took the stream over from a source whose lease had run out.
	// +optional
	Forced bool `json:"forced,omitempty"`

	// AcceptedAt is when the manager wrote the pending record, by its clock.
	// +optional
	AcceptedAt *metav1.MicroTime `json:"acceptedAt,omitempty"`
	// StoppedAt is when the source stopped taking appends, by its clock.
	// +optional
	StoppedAt *metav1.MicroTime `json:"stoppedAt,omitempty"`
	// ClosedAt is when everything that the source had taken was in the object store, by its clock.
	// +optional
	ClosedAt *metav1.MicroTime `json:"closedAt,omitempty"`
	// CommittedAt is when the completion was proposed, by the source's clock.
	// +optional
	CommittedAt *metav1.MicroTime `json:"committedAt,omitempty"`
	// OpenedAt is when the target opened the stream, by its clock.
	// +optional
	OpenedAt *metav1.MicroTime `json:"openedAt,omitempty"`

	// OpenedLog is where in its log the target opened the stream: the segment that fences the source, and the offset below
	// which everything lies that the source has acknowledged.
	// +optional
	OpenedLog *OpenedLog `json:"openedLog,omitempty"`

	// Window is the time from StoppedAt to OpenedAt. Where the clocks of source and target differ it is off by that.
	// +optional
	Window *metav1.Duration `json:"window,omitempty"`

	// WaitingFor says what the transfer waits for now.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	WaitingFor string `json:"waitingFor,omitempty"`

	// Conditions: Accepted, SourceClosed, Committed, TargetOpened, Ready, Reconciling, Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StreamTransfer moves the ownership of one stream to another node.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=strmt,categories=streaming
// +kubebuilder:selectablefield:JSONPath=`.spec.stream`
// +kubebuilder:selectablefield:JSONPath=`.spec.target`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Stream",type=string,JSONPath=`.spec.stream`
// +kubebuilder:printcolumn:name="From",type=string,JSONPath=`.status.source`
// +kubebuilder:printcolumn:name="To",type=string,JSONPath=`.spec.target`
// +kubebuilder:printcolumn:name="Epoch",type=integer,JSONPath=`.status.epoch`
// +kubebuilder:printcolumn:name="Window",type=string,JSONPath=`.status.window`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Waiting For",type=string,priority=1,JSONPath=`.status.waitingFor`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type StreamTransfer struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec StreamTransferSpec `json:"spec"`
	// +optional
	// +kubebuilder:default={}
	Status StreamTransferStatus `json:"status,omitempty"`
}

// StreamTransferList is a list of transfers.
// +kubebuilder:object:root=true
type StreamTransferList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []StreamTransfer `json:"items"`
}
