package handoff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

// Step is one legal change of a register: a JSON patch of the status subresource that starts with tests of everything
// that the step was decided from. If any of it has changed since, the API server refuses the patch as a whole.
type Step struct {
	// Name of the step as in the table of the contract, for logs and metrics.
	Name string
	// Patch is the JSON patch.
	Patch []byte
	// Next is the status that the step was computed to result in.
	Next v1alpha1.StreamStatus
}

// Place gives a stream without owner to a node, at epoch 1.
func Place(stream *v1alpha1.Stream, node string, now metav1.MicroTime) Step {
	next := stream.Status.DeepCopy()
	next.Node, next.Epoch, next.State = node, 1, v1alpha1.StreamOpening
	return propose("Place", stream, next, now)
}

// Unplaced says why a stream has no owner. It changes nothing but the conditions.
func Unplaced(stream *v1alpha1.Stream, reason string, now metav1.MicroTime) Step {
	next := stream.Status.DeepCopy()
	next.ObservedGeneration = stream.Generation
	next.Conditions = condition.Merge(next.Conditions, stream.Generation, second(now),
		condition.False(v1alpha1.ConditionReady, v1alpha1.ReasonNoEligibleNode, UnplacedMessage(reason)))
	return encode("Unplaced", stream, next)
}

// UnplacedMessage is the message of the condition that Unplaced sets.
func UnplacedMessage(reason string) string { return sentence("no node can take the stream: " + reason) }

// CannotOpen says that the owner tries to open the stream and fails. It changes nothing but the conditions; the next step
// replaces what it says.
func CannotOpen(stream *v1alpha1.Stream, problem string, now metav1.MicroTime) Step {
	next := stream.Status.DeepCopy()
	next.ObservedGeneration = stream.Generation
	next.Conditions = condition.Merge(next.Conditions, stream.Generation, second(now), condition.False(v1alpha1.ConditionReady, v1alpha1.ReasonCannotOpen,
		fmt.Sprintf("Node %s cannot open the stream at epoch %d and goes on trying: %s.", next.Node, next.Epoch, limited(problem))))
	return encode("CannotOpen", stream, next)
}

// followed returns the conditions that follow from the register. That its owner cannot open the stream is left as it is said.
func followed(register *v1alpha1.StreamStatus) []condition.Condition {
	of := condition.OfStream(register)
	ready, _ := condition.Get(register.Conditions, v1alpha1.ConditionReady)
	if register.State != v1alpha1.StreamOpening || ready.Reason != v1alpha1.ReasonCannotOpen {
		return of
	}
	return slices.DeleteFunc(of, func(c condition.Condition) bool { return c.Type == v1alpha1.ConditionReady })
}

// maxProblem bounds how much of an error's text goes into a condition, in bytes.
const maxProblem = 512

func limited(problem string) string {
	return strings.ToValidUTF8(problem[:min(len(problem), maxProblem)], "")
}

// Opened records that the owner opened the session at the register's epoch, and where in its log; nil where unknown: then what is known of
// an earlier opening stays.
func Opened(stream *v1alpha1.Stream, openedAt metav1.MicroTime, at *v1alpha1.OpenedLog) Step {
	next := stream.Status.DeepCopy()
	next.State, next.OpenedAt = v1alpha1.StreamOpen, &openedAt
	if at != nil {
		next.OpenedLog = at
	}
	return propose("Opened", stream, next, openedAt)
}

// Accept makes a transfer the pending one.
func Accept(stream *v1alpha1.Stream, transfer *v1alpha1.StreamTransfer, acceptedAt metav1.MicroTime) Step {
	next := stream.Status.DeepCopy()
	next.PendingTransfer = &v1alpha1.PendingTransfer{
		Name: transfer.Name, UID: transfer.UID, Source: stream.Status.Node, Target: transfer.Spec.Target,
		Force: transfer.Spec.Force, AcceptedAt: acceptedAt,
	}
	return propose("Accept", stream, next, acceptedAt)
}

// RecordClosed records a clean close that no completion follows at once. Tail is the number of the closing segment.
func RecordClosed(stream *v1alpha1.Stream, tail int64, now metav1.MicroTime) Step {
	next := stream.Status.DeepCopy()
	next.State, next.Tail = v1alpha1.StreamClosed, tail
	return propose("Close", stream, next, now)
}

// Closing is what a source knows of the session that it closed. All of it is absent where it held none.
type Closing struct {
	// Tail is the number of the closing segment, 0 where unknown.
	Tail int64
	// StoppedAt and ClosedAt are when it stopped taking appends, and when all of them were in the object store.
	StoppedAt, ClosedAt *metav1.MicroTime
}

// CompleteTransfer re-points the stream to the pending transfer's target at the next epoch, and removes the pending
// record: the atomic step of a handoff. The stream must have a pending transfer.
func CompleteTransfer(stream *v1alpha1.Stream, closing Closing, committedAt metav1.MicroTime) Step {
	return completion("Complete", stream, closing, committedAt, false)
}

// TakeOver completes the pending transfer in place of its source. The stream must have a pending transfer with force.
func TakeOver(stream *v1alpha1.Stream, committedAt metav1.MicroTime) Step {
	return completion("TakeOver", stream, Closing{}, committedAt, true)
}

func completion(name string, stream *v1alpha1.Stream, closing Closing, committedAt metav1.MicroTime, forced bool) Step {
	pending := stream.Status.PendingTransfer
	next := stream.Status.DeepCopy()
	tail := closing.Tail
	if tail == 0 {
		tail = knownTail(&stream.Status)
	}
	next.LastTransfer = &v1alpha1.LastTransfer{
		Name: pending.Name, UID: pending.UID, Source: pending.Source, Target: pending.Target,
		ClosedEpoch: stream.Status.Epoch, Tail: tail,
		AcceptedAt: pending.AcceptedAt, StoppedAt: closing.StoppedAt, ClosedAt: closing.ClosedAt, CommittedAt: committedAt, Forced: forced,
	}
	next.Node, next.Epoch, next.State = pending.Target, stream.Status.Epoch+1, v1alpha1.StreamOpening
	next.PendingTransfer, next.OpenedAt, next.Tail = nil, nil, 0
	return propose(name, stream, next, committedAt)
}

// KnownSegment returns the number of a segment that the log holds for certain, as far as the register knows: the last closing one, or that
// of the last opening. Numbers only rise, so a log that ends before it is not the stream's. 0 where there is none.
func KnownSegment(register *v1alpha1.StreamStatus) int64 {
	known := knownTail(register)
	if at := register.OpenedLog; at != nil {
		known = max(known, at.Segment)
	}
	return known
}

// knownTail returns the number of the last closing segment that the register knows of, whatever was opened since; 0 where there is none.
func knownTail(register *v1alpha1.StreamStatus) int64 {
	if last := register.LastTransfer; last != nil {
		return max(register.Tail, last.Tail)
	}
	return register.Tail
}

// ReopenAt raises the epoch at the same owner.
func ReopenAt(stream *v1alpha1.Stream, epoch int64, now metav1.MicroTime) Step {
	next := stream.Status.DeepCopy()
	next.Epoch, next.State, next.OpenedAt = epoch, v1alpha1.StreamOpening, nil
	return propose("Reopen", stream, next, now)
}

// Withdraw removes the pending record; the source goes on.
func Withdraw(stream *v1alpha1.Stream, now metav1.MicroTime) Step {
	next := stream.Status.DeepCopy()
	next.PendingTransfer = nil
	return propose("Withdraw", stream, next, now)
}

// operation is one operation of a JSON patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// propose builds the patch from the stream's status to next. It tests the object's identity and the whole core of the
// register (owner, epoch, state, pending transfer), which contains what each step's table row names under "allowed
// when", so that a step holds only on exactly the register that it was decided from.
func propose(name string, stream *v1alpha1.Stream, next *v1alpha1.StreamStatus, now metav1.MicroTime) Step {
	next.ObservedGeneration = stream.Generation
	next.Conditions = condition.Merge(next.Conditions, stream.Generation, second(now), condition.OfStream(next)...)
	return encode(name, stream, next)
}

// second is the resolution of the times in conditions.
func second(now metav1.MicroTime) metav1.Time { return metav1.NewTime(now.Truncate(time.Second)) }

func encode(name string, stream *v1alpha1.Stream, next *v1alpha1.StreamStatus) Step {
	operations := append(tests(stream), changes(&stream.Status, next)...)
	patch, err := json.Marshal(operations)
	if err != nil {
		panic(fmt.Sprintf("encoding the patch of step %s: %v", name, err)) // plain strings, numbers and times
	}
	return Step{Name: name, Patch: patch, Next: *next}
}

func tests(stream *v1alpha1.Stream) []operation {
	old := &stream.Status
	operations := []operation{
		{"test", "/metadata/uid", stream.UID},
		{"test", "/status/node", old.Node},
		{"test", "/status/epoch", old.Epoch},
		{"test", "/status/state", orNull(old.State)},
	}
	// A test of an absent member with null holds; a path through an absent member would be an error of its own kind.
	if old.PendingTransfer == nil {
		return append(operations, operation{"test", "/status/pendingTransfer", nil})
	}
	return append(operations, operation{"test", "/status/pendingTransfer/uid", old.PendingTransfer.UID})
}

// changes sets every member of the register in which next differs. The tests hold for everything that a step of somebody else
// could have changed besides conditions, so the members that are left out are what the step was decided from.
func changes(old, next *v1alpha1.StreamStatus) []operation {
	return slices.Concat(
		change("observedGeneration", old.ObservedGeneration, next.ObservedGeneration, false),
		change("node", old.Node, next.Node, false),
		change("epoch", old.Epoch, next.Epoch, false),
		change("state", old.State, next.State, next.State == ""),
		change("tail", old.Tail, next.Tail, next.Tail == 0),
		change("openedAt", old.OpenedAt, next.OpenedAt, next.OpenedAt == nil),
		change("openedLog", old.OpenedLog, next.OpenedLog, next.OpenedLog == nil),
		change("pendingTransfer", old.PendingTransfer, next.PendingTransfer, next.PendingTransfer == nil),
		change("lastTransfer", old.LastTransfer, next.LastTransfer, next.LastTransfer == nil),
		change("conditions", old.Conditions, next.Conditions, next.Conditions == nil),
	)
}

// change sets a member that differs, or removes it. A member that is not there cannot be removed, hence the add before it.
func change[T any](member string, old, next T, absent bool) []operation {
	path := "/status/" + member
	switch {
	case equality.Semantic.DeepEqual(old, next):
		return nil
	case absent:
		return []operation{{"add", path, nil}, {Op: "remove", Path: path}}
	}
	return []operation{{"add", path, next}}
}

func orNull(state v1alpha1.StreamState) any {
	if state == "" {
		return nil
	}
	return state
}
