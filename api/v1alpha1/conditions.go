package v1alpha1

// Condition types. Ready, Reconciling and Stalled mean what kstatus says of them.
const (
	// ConditionReady of a stream: it is open at its owner. Of a node: it may hold sessions. Of a transfer: it
	// succeeded.
	ConditionReady = "Ready"
	// ConditionReconciling of a transfer: it is under way.
	ConditionReconciling = "Reconciling"
	// ConditionStalled of a transfer: it ended without success and will not go on.
	ConditionStalled = "Stalled"

	// ConditionTransferInProgress of a stream: a transfer is accepted and not complete.
	ConditionTransferInProgress = "TransferInProgress"

	// ConditionObjectStoreReachable of a node: its agent reaches the object store. Written by the agent.
	ConditionObjectStoreReachable = "ObjectStoreReachable"
	// ConditionSchedulable of a node: new streams may be placed on it.
	ConditionSchedulable = "Schedulable"
	// ConditionDraining of a node: its streams are leaving.
	ConditionDraining = "Draining"
	// ConditionDrained of a node: it was drained and holds no stream.
	ConditionDrained = "Drained"
	// ConditionDrainBlocked of a node: streams that cannot leave are named.
	ConditionDrainBlocked = "DrainBlocked"

	// ConditionAccepted of a transfer: the register holds its pending record, or held it.
	ConditionAccepted = "Accepted"
	// ConditionSourceClosed of a transfer: the source closed its session.
	ConditionSourceClosed = "SourceClosed"
	// ConditionCommitted of a transfer: the register names the target.
	ConditionCommitted = "Committed"
	// ConditionTargetOpened of a transfer: the target opened its session.
	ConditionTargetOpened = "TargetOpened"
)

// Reasons of conditions. The message beside a reason is one clear sentence for people.
const (
	ReasonNotPlaced        = "NotPlaced"
	ReasonNoEligibleNode   = "NoEligibleNode"
	ReasonOpening          = "Opening"
	ReasonOpen             = "Open"
	ReasonClosed           = "Closed"
	ReasonTransferPending  = "TransferPending"
	ReasonNoTransfer       = "NoTransfer"
	ReasonAsExpected       = "AsExpected"
	ReasonLeaseExpired     = "LeaseExpired"
	ReasonLeaseMissing     = "LeaseMissing"
	ReasonStoreUnreachable = "ObjectStoreUnreachable"
	ReasonUnschedulable    = "Unschedulable"
	ReasonOutOfService     = "OutOfService"
	ReasonNodeCordoned     = "NodeCordoned"
	ReasonNodeNotReady     = "NodeNotReady"

	ReasonWaiting            = "Waiting"
	ReasonAccepted           = "Accepted"
	ReasonCommitted          = "Committed"
	ReasonSucceeded          = "Succeeded"
	ReasonAlreadyOnTarget    = "AlreadyOnTarget"
	ReasonCancelled          = "Cancelled"
	ReasonTooLateToCancel    = "TooLateToCancel"
	ReasonDeadlineExceeded   = "DeadlineExceeded"
	ReasonStreamNotFound     = "StreamNotFound"
	ReasonStreamDeleted      = "StreamDeleted"
	ReasonStreamTransferring = "StreamTransferring"
	ReasonTargetNotFound     = "TargetNotFound"
	ReasonTargetUnavailable  = "TargetUnavailable"
	ReasonTargetFull         = "TargetFull"
	ReasonSourceMismatch     = "SourceMismatch"
	ReasonEpochMismatch      = "EpochMismatch"
	ReasonNotYet             = "NotYet"
	ReasonTakenOver          = "TakenOver"
	ReasonSourceGone         = "SourceGone"
	ReasonCannotOpen         = "CannotOpen"
	ReasonNotOpened          = "NotOpened"
)

// Reasons of the conditions Draining, Drained and DrainBlocked.
const (
	ReasonNotDraining     = "NotDraining"
	ReasonNodeTerminating = "NodeTerminating"
	ReasonTainted         = "Tainted"
	ReasonStopping        = "Stopping"
	ReasonStreamsRemain   = "StreamsRemain"
	ReasonEmpty           = "Empty"
	ReasonNotBlocked      = "NotBlocked"
)

// Causes of transfers that the operator makes, as values of LabelCause.
const (
	CauseDrain    = "Drain"
	CauseTakeover = "Takeover"
	// CauseCannotOpen: the owner tried for long to open the stream.
	CauseCannotOpen = "CannotOpen"
)

// Labels of objects that the operator makes.
const (
	LabelManagedBy  = "app.kubernetes.io/managed-by"
	LabelStream     = "streamshift.io/stream"
	LabelSourceNode = "streamshift.io/source-node"
	LabelTargetNode = "streamshift.io/target-node"
	LabelCause      = "streamshift.io/cause"
)

// FinalizerLog holds a deleted Stream until its owner has removed the log from the object store.
const FinalizerLog = "streamshift.io/log"

// NodeLeaseNamespace holds one Lease a node: the heartbeats, apart from everything that a person looks at.
const NodeLeaseNamespace = "streamshift-node-lease"
