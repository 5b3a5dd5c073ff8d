package v1alpha1

// Causes of transfers that the operator makes where no node has to be emptied.
const (
	// CausePlacement: Stream.spec.nodeName names another node than the owner.
	CausePlacement = "Placement"
	// CauseRebalance: a StreamRebalance.
	CauseRebalance = "Rebalance"
)

// Labels and annotations of transfers that a StreamRebalance makes.
const (
	// LabelRebalance is the name of the StreamRebalance, LabelPlan the hash of its plan.
	LabelRebalance = "streamshift.io/rebalance"
	LabelPlan      = "streamshift.io/plan"
	// AnnotationCoolDown is for how many seconds the stream stays afterwards.
	AnnotationCoolDown = "streamshift.io/cool-down-seconds"
)

// AnnotationAcceptLogEnd of a Stream has a node open it although its log ends before a segment that is known to have been written, if it
// ends at the segment of this number or behind. What was in the missing ones is given up: the object store has lost it, or was set back.
const AnnotationAcceptLogEnd = "streamshift.io/accept-log-end"

// Reasons of condition Reconciling of a stream.
const (
	// ReasonAtNode: the stream is where its spec wants it, or the spec wants nothing.
	ReasonAtNode = "AtNode"
	// ReasonGoingToNode: a transfer to the node that spec.nodeName names is made, or will be when it is its turn.
	ReasonGoingToNode = "GoingToNode"
	// ReasonNodeNameWaits: that node cannot take the stream now.
	ReasonNodeNameWaits = "NodeNameWaits"
)

// Reasons of the conditions of a StreamRebalance.
const (
	ReasonPlanned          = "Planned"
	ReasonScheduled        = "Scheduled"
	ReasonAwaitingApproval = "AwaitingApproval"
	ReasonOtherApproved    = "OtherPlanApproved"
	ReasonExecuting        = "Executing"
	ReasonWaitsForDrains   = "WaitsForDrains"
	ReasonSuspended        = "Suspended"
	ReasonNothingToDo      = "NothingToDo"
	ReasonMovesFailed      = "MovesFailed"
	ReasonPlanStale        = "PlanStale"
	ReasonPlanGone         = "PlanGone"
	ReasonInvalidSpec      = "InvalidSpec"
)

// Reasons why a move of a plan is skipped, beside those of transfers.
const (
	ReasonStreamMovedOn = "StreamMovedOn"
	ReasonPinned        = "Pinned"
	ReasonWindowOver    = "WindowOver"
)
