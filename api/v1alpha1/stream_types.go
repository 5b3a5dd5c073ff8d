package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// DrainPolicy says what a drain does with a stream.
// +kubebuilder:validation:Enum=Move;Stay
type DrainPolicy string

// Drain policies.
const (
	DrainMove DrainPolicy = "Move"
	DrainStay DrainPolicy = "Stay"
)

// DeletionPolicy says what becomes of a stream's log when the Stream is deleted.
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

// Deletion policies.
const (
	DeletionDelete DeletionPolicy = "Delete"
	DeletionRetain DeletionPolicy = "Retain"
)

// Creation says from when on a stream exists for its clients.
// +kubebuilder:validation:Enum=Immediate;ByClient
type Creation string

const (
	// CreationImmediate streams exist for clients as soon as they are open.
	CreationImmediate Creation = "Immediate"
	// CreationByClient streams exist for clients from the PUT on that creates them, with its initial content.
	CreationByClient Creation = "ByClient"
)

// LabelValue is the value of a label.
// +kubebuilder:validation:MaxLength=63
type LabelValue string

// StreamSpec is what a user wants of a stream.
type StreamSpec struct {
	// NodeName is the node that shall own the stream. A difference to the present owner becomes a transfer; removing
	// it leaves the stream where it is.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	NodeName string `json:"nodeName,omitempty"`

	// NodeSelector limits the nodes that may own the stream to those whose StreamNode has all of these labels.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	NodeSelector map[string]LabelValue `json:"nodeSelector,omitempty"`

	// DrainPolicy says what a drain of its node does with the stream.
	// +optional
	// +kubebuilder:default=Move
	DrainPolicy DrainPolicy `json:"drainPolicy,omitempty"`

	// DeletionPolicy says whether deleting the Stream removes its log from the object store.
	// +optional
	// +kubebuilder:default=Delete
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`

	// Creation says from when on the stream exists for its clients.
	// +optional
	// +kubebuilder:default=Immediate
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="creation is immutable"
	Creation Creation `json:"creation,omitempty"`

	// ContentType of the stream's records, such as application/json.
	// +optional
	// +kubebuilder:default="application/octet-stream"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^[^/; ]+/[^/; ]+ *(;.*)?$')",message="must be a media type such as application/json"
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="contentType is immutable: records that are stored already have it"
	ContentType string `json:"contentType,omitempty"`

	// TTL after the last read or append, when the stream is deleted, such as 36h or 1h30m. Absent: never.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$') && duration(self) >= duration('0s')",message="must be a duration such as 36h or 1h30m, of at most 292 years"
	TTL *metav1.Duration `json:"ttl,omitempty"`

	// ExpiresAt is the moment when the stream is deleted, whatever happens to it, such as 2030-01-31T12:00:00Z. Absent: never.
	// +optional
	ExpiresAt *Moment `json:"expiresAt,omitempty"`

	// Retention bounds what is kept. Absent: everything.
	// +optional
	Retention *Retention `json:"retention,omitempty"`
}

// Retention bounds the records that a stream keeps. What is outside either bound may be trimmed.
type Retention struct {
	// Age is how long a record is kept at least, such as 36h or 1h30m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+$') && duration(self) >= duration('0s')",message="must be a duration such as 36h or 1h30m, of at most 292 years"
	Age *metav1.Duration `json:"age,omitempty"`
	// Bytes is how many payload bytes are kept at least.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Bytes *int64 `json:"bytes,omitempty"`
}

// StreamState is the state of a stream's session at its owner.
// +kubebuilder:validation:Enum=Opening;Open;Closed
type StreamState string

// Stream states.
const (
	StreamOpening StreamState = "Opening"
	StreamOpen    StreamState = "Open"
	StreamClosed  StreamState = "Closed"
)

// StreamStatus is the register of a stream: the only authority on who owns it. The rules refuse illegal steps, whoever
// proposes them: each one is what a kind of step must be. It is one value, of which each step writes what it changes.
//
// The API server pays for each field that a rule looks up, by the number of that field's neighbours, and most of all for
// whether two objects are equal. So a rule begins with what lets most writes pass, and looks at nothing that another
// rule sees to. Of lastTransfer the rules keep the identity; an admission policy keeps all of it.
//
// +structType=atomic
// +kubebuilder:validation:XValidation:rule="size(self.node) > 0 || size(oldSelf.node) > 0 || (self.epoch == oldSelf.epoch && !has(self.state) && !has(self.pendingTransfer) && !has(self.lastTransfer))",message="a stream without owner has no epoch, state or transfer"
// +kubebuilder:validation:XValidation:rule="size(oldSelf.node) > 0 || size(self.node) == 0 || (self.epoch == 1 && self.state == 'Opening' && !has(self.pendingTransfer) && !has(self.lastTransfer))",message="a stream is placed at epoch 1, in state Opening"
// +kubebuilder:validation:XValidation:rule="self.node == oldSelf.node || size(oldSelf.node) == 0 || (has(oldSelf.pendingTransfer) && self.node == oldSelf.pendingTransfer.target && !has(self.pendingTransfer) && has(self.lastTransfer) && self.lastTransfer.uid == oldSelf.pendingTransfer.uid && self.lastTransfer.name == oldSelf.pendingTransfer.name && self.lastTransfer.source == oldSelf.node && self.lastTransfer.target == self.node && self.lastTransfer.closedEpoch == oldSelf.epoch && self.epoch == oldSelf.epoch + 1 && (!self.lastTransfer.forced || oldSelf.pendingTransfer.force) && has(self.state) && self.state == 'Opening')",message="node changes only by a completion: to the target of the pending transfer, which it removes and names as lastTransfer, with its source; at exactly the epoch that was closed, to the next one; in state Opening; forced only where the transfer has force"
// +kubebuilder:validation:XValidation:rule="self.epoch == oldSelf.epoch ? !has(oldSelf.state) || (has(self.state) && (self.state == oldSelf.state || oldSelf.state == 'Opening' || (oldSelf.state == 'Open' && self.state == 'Closed'))) : self.node != oldSelf.node || (has(self.state) && self.state == 'Opening' && !has(self.pendingTransfer) && !has(oldSelf.pendingTransfer))",message="at one epoch a stream goes from Opening to Open to Closed, never back; a stream is reopened in state Opening, and not while its transfer is pending"
// +kubebuilder:validation:XValidation:rule="!has(self.pendingTransfer) || has(oldSelf.pendingTransfer) || [self.node].all(node, self.pendingTransfer.source == node && self.pendingTransfer.target != node)",message="a transfer is accepted from the owner to another node"
// +kubebuilder:validation:XValidation:rule="self.?lastTransfer.uid == oldSelf.?lastTransfer.uid || (self.node != oldSelf.node && size(oldSelf.node) > 0)",message="lastTransfer is written by a completion only, and stays"
// +kubebuilder:validation:XValidation:rule="has(self.openedLog) ? (has(oldSelf.openedLog) && self.openedLog == oldSelf.openedLog) || (has(oldSelf.state) && oldSelf.state == 'Opening' && has(self.state) && self.state == 'Open') : !has(oldSelf.openedLog) || self.epoch != oldSelf.epoch",message="openedLog is written by an opening only, and stays as long as the epoch does"
type StreamStatus struct {
	// ObservedGeneration is the generation of the spec that the conditions speak of; -1 before the first look.
	// +optional
	// +kubebuilder:default=-1
	ObservedGeneration int64 `json:"observedGeneration"`

	// Node is the owner; empty before the stream is placed.
	// +optional
	// +kubebuilder:default=""
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="size(self) > 0 || size(oldSelf) == 0",message="a stream that has an owner keeps one"
	Node string `json:"node"`

	// Epoch is the last epoch assigned. It is raised by every opening, never lowered and never reused.
	// +optional
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:XValidation:rule="self >= oldSelf",message="epoch never decreases"
	Epoch int64 `json:"epoch"`

	// State of the session at Epoch.
	// +optional
	State StreamState `json:"state,omitempty"`

	// Tail is the number of the log segment that closed the session at Epoch, in state Closed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Tail int64 `json:"tail,omitempty"`

	// OpenedAt is when the owner opened the session at Epoch, by its clock.
	// +optional
	OpenedAt *metav1.MicroTime `json:"openedAt,omitempty"`

	// OpenedLog is where in its log the stream was opened last: by the session at Epoch, unless State is Opening. It stays, as proof of how
	// far the log reaches: a node whose object store has less does not open the stream.
	// +optional
	OpenedLog *OpenedLog `json:"openedLog,omitempty"`

	// PendingTransfer is the pending record: the transfer that is accepted and not complete.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="stream is already transferring: a pending transfer is removed, never replaced or changed"
	PendingTransfer *PendingTransfer `json:"pendingTransfer,omitempty"`

	// LastTransfer is the transfer that was completed last.
	// +optional
	LastTransfer *LastTransfer `json:"lastTransfer,omitempty"`

	// Conditions: Ready, TransferInProgress.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// OpenedLog is the evidence of an opening: what fences every session before it, and what none of them can add to.
type OpenedLog struct {
	// Segment is the number of the session's first log segment. Whoever opened the stream before finds it taken.
	// +kubebuilder:validation:Minimum=1
	Segment int64 `json:"segment"`
	// Offset is the stream's tail at the opening: everything that was acknowledged before lies below it.
	// +kubebuilder:validation:Minimum=0
	Offset int64 `json:"offset"`
}

// PendingTransfer is the pending record of a transfer. It is removed as a whole and never changed.
type PendingTransfer struct {
	// Name of the StreamTransfer, in the stream's namespace.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// UID of the StreamTransfer.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	UID types.UID `json:"uid"`
	// Source is the node that owns the stream.
	// +kubebuilder:validation:MaxLength=253
	Source string `json:"source"`
	// Target is the node that will own the stream.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Target string `json:"target"`
	// Force allows the manager to complete the transfer in place of a source whose lease has run out.
	// +kubebuilder:default=false
	Force bool `json:"force"`
	// AcceptedAt is when the manager accepted the transfer, by its clock.
	AcceptedAt metav1.MicroTime `json:"acceptedAt"`
}

// LastTransfer is what a completion leaves behind.
type LastTransfer struct {
	// Name of the StreamTransfer, in the stream's namespace.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// UID of the StreamTransfer.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	UID types.UID `json:"uid"`
	// Source is the node that owned the stream before.
	// +kubebuilder:validation:MaxLength=253
	Source string `json:"source"`
	// Target is the node that owns it since.
	// +kubebuilder:validation:MaxLength=253
	Target string `json:"target"`
	// ClosedEpoch is the epoch that the source closed: the register's epoch at the completion.
	// +kubebuilder:validation:Minimum=1
	ClosedEpoch int64 `json:"closedEpoch"`
	// Tail is the number of the log segment that closed the session, or where it was not closed the one before; 0 where unknown. It says where
	// the target is to look, and how far the log reaches at least.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Tail int64 `json:"tail,omitempty"`
	// AcceptedAt is copied from the pending record.
	AcceptedAt metav1.MicroTime `json:"acceptedAt"`
	// StoppedAt is when the source stopped taking appends, by its clock; absent where it was not serving.
	// +optional
	StoppedAt *metav1.MicroTime `json:"stoppedAt,omitempty"`
	// ClosedAt is when everything that the source had taken was in the object store, by its clock.
	// +optional
	ClosedAt *metav1.MicroTime `json:"closedAt,omitempty"`
	// CommittedAt is when the completion was proposed, by the proposer's clock.
	CommittedAt metav1.MicroTime `json:"committedAt"`
	// Forced tells that the manager took the stream over.
	// +kubebuilder:default=false
	Forced bool `json:"forced"`
}

// Stream is an append-only log that one node owns at a time. Its status is a register. The rule below is at the root since
// those inside status are skipped where status is removed.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=strm,categories=streaming
// +kubebuilder:selectablefield:JSONPath=`.status.node`
// +kubebuilder:selectablefield:JSONPath=`.status.pendingTransfer.target`
// +kubebuilder:printcolumn:name="Node",type=string,JSONPath=`.status.node`
// +kubebuilder:printcolumn:name="Epoch",type=integer,JSONPath=`.status.epoch`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`
// +kubebuilder:printcolumn:name="Transfer",type=string,JSONPath=`.status.pendingTransfer.name`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || has(self.status)",message="status, once set, stays set"
type Stream struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	// +kubebuilder:default={}
	Spec StreamSpec `json:"spec,omitempty"`
	// +optional
	// +kubebuilder:default={node: "", epoch: 0}
	Status StreamStatus `json:"status,omitempty"`
}

// StreamList is a list of streams.
// +kubebuilder:object:root=true
type StreamList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Stream `json:"items"`
}
