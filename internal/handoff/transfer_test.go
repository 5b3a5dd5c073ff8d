package handoff

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/admission"
	"github.com/streamshift/streamshift/internal/condition"
)

func transferTo(target string, change func(*v1alpha1.StreamTransfer)) *v1alpha1.StreamTransfer {
	transfer := &v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{Name: "t", Namespace: "default", UID: "transfer-uid", Generation: 1, CreationTimestamp: metav1.NewTime(moment)},
		Spec:       v1alpha1.StreamTransferSpec{Stream: "orders", Target: target},
	}
	if change != nil {
		change(transfer)
	}
	return transfer
}

func readyNode(name string) *v1alpha1.StreamNode {
	return &v1alpha1.StreamNode{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1alpha1.StreamNodeSpec{Slots: 10},
		Status: v1alpha1.StreamNodeStatus{Conditions: condition.Merge(nil, 1, metav1.NewTime(moment),
			condition.True(v1alpha1.ConditionReady, v1alpha1.ReasonAsExpected, ""), condition.True(v1alpha1.ConditionSchedulable, v1alpha1.ReasonAsExpected, ""))},
	}
}

func notReadyNode(name string) *v1alpha1.StreamNode {
	node := readyNode(name)
	node.Status.Conditions = condition.Merge(node.Status.Conditions, 1, metav1.NewTime(moment), condition.Unknown(v1alpha1.ConditionReady, v1alpha1.ReasonLeaseExpired, "Its lease ran out."))
	return node
}

// completed makes a stream one whose last transfer was this one.
func completed(state v1alpha1.StreamState) func(*v1alpha1.Stream) {
	return func(s *v1alpha1.Stream) {
		s.Status.Node, s.Status.Epoch, s.Status.State = "node-b", 8, state
		s.Status.LastTransfer = &v1alpha1.LastTransfer{Name: "t", UID: "transfer-uid", Source: "node-a", Target: "node-b", ClosedEpoch: 7}
	}
}

func TestDecideTransfer(t *testing.T) {
	later := moment.Add(30 * time.Second)
	for name, c := range map[string]struct {
		transfer    *v1alpha1.StreamTransfer
		stream      *v1alpha1.Stream
		target      *v1alpha1.StreamNode
		used        int
		unsettled   bool
		want        TransferAction
		wantReason  string
		wantMessage string
	}{
		"a valid transfer is accepted": {
			transfer: transferTo("node-b", nil), stream: streamAt(nil), target: readyNode("node-b"),
			want: TransferAccept, wantReason: v1alpha1.ReasonAccepted, wantMessage: "from node-a to node-b"},
		"not before the outcome of the last one is recorded": {
			transfer: transferTo("node-c", func(t *v1alpha1.StreamTransfer) { t.UID = "other" }), stream: streamAt(completed(v1alpha1.StreamOpen)), target: readyNode("node-c"), unsettled: true,
			want: TransferSettleLast, wantReason: v1alpha1.ReasonWaiting, wantMessage: "outcome of transfer t"},
		"a stream without owner is waited for": {
			transfer: transferTo("node-b", nil), stream: streamAt(unplaced), target: readyNode("node-b"),
			want: TransferWait, wantReason: v1alpha1.ReasonNotPlaced, wantMessage: "no owner yet"},
		"a stream that does not exist": {
			transfer: transferTo("node-b", nil),
			want:     TransferFail, wantReason: v1alpha1.ReasonStreamNotFound, wantMessage: "does not exist"},
		"a target that is not registered": {
			transfer: transferTo("node-b", nil), stream: streamAt(nil),
			want: TransferFail, wantReason: v1alpha1.ReasonTargetNotFound, wantMessage: "not registered"},
		"a target that is not ready": {
			transfer: transferTo("node-b", nil), stream: streamAt(nil), target: notReadyNode("node-b"),
			want: TransferFail, wantReason: v1alpha1.ReasonTargetUnavailable, wantMessage: "Its lease ran out."},
		"the last free slot": {
			transfer: transferTo("node-b", nil), stream: streamAt(nil), target: readyNode("node-b"), used: 9,
			want: TransferAccept, wantReason: v1alpha1.ReasonAccepted, wantMessage: "node-b"},
		"no free slot": {
			transfer: transferTo("node-b", nil), stream: streamAt(nil), target: readyNode("node-b"), used: 10,
			want: TransferFail, wantReason: v1alpha1.ReasonTargetFull, wantMessage: "10 of 10"},
		"a stream on its target already, whatever the target's state": {
			transfer: transferTo("node-a", nil), stream: streamAt(nil), target: notReadyNode("node-a"),
			want: TransferSucceed, wantReason: v1alpha1.ReasonAlreadyOnTarget, wantMessage: "node-a"},
		"another transfer to the same target is followed": {
			transfer: transferTo("node-b", func(t *v1alpha1.StreamTransfer) { t.UID = "second" }), stream: streamAt(pendingTo("node-b")), target: readyNode("node-b"),
			want: TransferWait, wantReason: v1alpha1.ReasonWaiting, wantMessage: "transfer t, which takes the stream to node-b already"},
		"another transfer to another target wins": {
			transfer: transferTo("node-b", func(t *v1alpha1.StreamTransfer) { t.UID = "second" }), stream: streamAt(pendingTo("node-c")), target: readyNode("node-b"),
			want: TransferFail, wantReason: v1alpha1.ReasonStreamTransferring, wantMessage: `transfer "t" takes it to node "node-c" since 2026-03-01T12:00:00Z`},
		"a source that is not the owner": {
			transfer: transferTo("node-b", func(t *v1alpha1.StreamTransfer) { t.Spec.Source = "node-c" }), stream: streamAt(nil), target: readyNode("node-b"),
			want: TransferFail, wantReason: v1alpha1.ReasonSourceMismatch, wantMessage: "node-c"},
		"an epoch that has passed": {
			transfer: transferTo("node-b", func(t *v1alpha1.StreamTransfer) { t.Spec.ExpectedEpoch = new(int64(6)) }), stream: streamAt(nil), target: readyNode("node-b"),
			want: TransferFail, wantReason: v1alpha1.ReasonEpochMismatch, wantMessage: "epoch 7"},
		"an accepted transfer waits for its source": {
			transfer: transferTo("node-b", nil), stream: streamAt(pendingTo("node-b")), target: readyNode("node-b"), used: 10,
			want: TransferWait, wantReason: v1alpha1.ReasonAccepted, wantMessage: "node node-a closes the stream"},
		"an accepted transfer whose preconditions no longer hold goes on": {
			transfer: transferTo("node-b", func(t *v1alpha1.StreamTransfer) { t.Spec.ExpectedEpoch = new(int64(6)) }), stream: streamAt(pendingTo("node-b")), target: readyNode("node-b"),
			want: TransferWait, wantReason: v1alpha1.ReasonAccepted, wantMessage: "closes"},
		"an accepted transfer that is cancelled is withdrawn": {
			transfer: transferTo("node-b", func(t *v1alpha1.StreamTransfer) { t.Spec.Cancel = true }), stream: streamAt(pendingTo("node-b")), target: readyNode("node-b"),
			want: TransferWithdraw, wantReason: v1alpha1.ReasonCancelled, wantMessage: "cancelled"},
		"and ends as cancelled": {
			transfer: transferTo("node-b", func(t *v1alpha1.StreamTransfer) { t.Spec.Cancel = true }), stream: streamAt(nil), target: readyNode("node-b"),
			want: TransferCancel, wantReason: v1alpha1.ReasonCancelled, wantMessage: "before it was committed"},
		"an accepted transfer whose target went away is withdrawn": {
			transfer: transferTo("node-b", nil), stream: streamAt(pendingTo("node-b")), target: notReadyNode("node-b"),
			want: TransferWithdraw, wantReason: v1alpha1.ReasonTargetUnavailable, wantMessage: "not ready"},
		"an accepted transfer whose deadline is over is withdrawn": {
			transfer: transferTo("node-b", func(t *v1alpha1.StreamTransfer) { t.Spec.DeadlineSeconds = new(int32(30)) }), stream: streamAt(pendingTo("node-b")), target: readyNode("node-b"),
			want: TransferWithdraw, wantReason: v1alpha1.ReasonDeadlineExceeded, wantMessage: "within 30 s"},
		"one second before its deadline it is not": {
			transfer: transferTo("node-b", func(t *v1alpha1.StreamTransfer) { t.Spec.DeadlineSeconds = new(int32(31)) }), stream: streamAt(pendingTo("node-b")), target: readyNode("node-b"),
			want: TransferWait, wantReason: v1alpha1.ReasonAccepted, wantMessage: "closes"},
		"a committed transfer waits for its target": {
			transfer: transferTo("node-b", nil), stream: streamAt(completed(v1alpha1.StreamOpening)),
			want: TransferWait, wantReason: v1alpha1.ReasonCommitted, wantMessage: "node node-b opens the stream"},
		"a transfer that is committed and open succeeded, whatever became of the target": {
			transfer: transferTo("node-b", nil), stream: streamAt(completed(v1alpha1.StreamOpen)),
			want: TransferSucceed, wantReason: v1alpha1.ReasonSucceeded, wantMessage: "from node-a to node-b"},
		"cancelled too late it succeeded all the same": {
			transfer: transferTo("node-b", func(t *v1alpha1.StreamTransfer) { t.Spec.Cancel = true }), stream: streamAt(completed(v1alpha1.StreamOpen)),
			want: TransferSucceed, wantReason: v1alpha1.ReasonTooLateToCancel, wantMessage: "committed before it was cancelled"},
		"the deadline does not count once committed": {
			transfer: transferTo("node-b", func(t *v1alpha1.StreamTransfer) { t.Spec.DeadlineSeconds = new(int32(1)) }), stream: streamAt(completed(v1alpha1.StreamOpening)),
			want: TransferWait, wantReason: v1alpha1.ReasonCommitted, wantMessage: "opens"},
	} {
		t.Run(name, func(t *testing.T) {
			view := TransferView{View: admission.View{Transfer: c.transfer, Stream: c.stream, Target: c.target, TargetUsed: c.used}, LastSettled: !c.unsettled, Now: later}
			got := DecideTransfer(view)
			if got.Action != c.want || got.Reason != c.wantReason || !strings.Contains(got.Message, c.wantMessage) {
				t.Errorf("got %s, %s: %s\nwant %s, %s: ...%s...", got.Action, got.Reason, got.Message, c.want, c.wantReason, c.wantMessage)
			}
		})
	}
}

// TestAFinishedTransferIsLeftAlone: whatever the register says later, the outcome stands.
func TestAFinishedTransferIsLeftAlone(t *testing.T) {
	for _, action := range []TransferAction{TransferSucceed, TransferFail, TransferCancel} {
		transfer := transferTo("node-b", nil)
		transfer.Status = TransferStatus(transfer, streamAt(completed(v1alpha1.StreamOpen)), TransferDecision{Action: action, Reason: "R", Message: "m"}, micro)
		if !Terminal(transfer) {
			t.Errorf("%s did not make the transfer terminal", action)
		}
		for name, stream := range map[string]*v1alpha1.Stream{"no stream": nil, "pending": streamAt(pendingTo("node-b")), "completed": streamAt(completed(v1alpha1.StreamOpen)), "elsewhere": streamAt(nil)} {
			view := TransferView{View: admission.View{Transfer: transfer, Stream: stream, Target: readyNode("node-b")}, LastSettled: true, Now: moment}
			if got := DecideTransfer(view); got.Action != TransferFinished {
				t.Errorf("after %s, %s: %s", action, name, got.Action)
			}
		}
	}
}

func TestTransferStatusTellsTheTimeline(t *testing.T) {
	at := func(ms int) *metav1.MicroTime {
		return new(metav1.NewMicroTime(moment.Add(time.Duration(ms) * time.Millisecond)))
	}
	stream := streamAt(completed(v1alpha1.StreamOpen))
	last := stream.Status.LastTransfer
	last.AcceptedAt, last.StoppedAt, last.ClosedAt, last.CommittedAt, stream.Status.OpenedAt = *at(0), at(5), at(6), *at(7), at(15)
	stream.Status.OpenedLog = &v1alpha1.OpenedLog{Segment: 9, Offset: 240}
	transfer := transferTo("node-b", nil)

	got := TransferStatus(transfer, stream, TransferDecision{Action: TransferSucceed, Reason: v1alpha1.ReasonSucceeded, Message: "the stream went from node-a to node-b"}, *at(20))

	conditions := got.Conditions
	got.Conditions = nil
	want := v1alpha1.StreamTransferStatus{
		ObservedGeneration: 1, Phase: v1alpha1.TransferSucceeded, StreamUID: "stream-uid", Source: "node-a", Target: "node-b", Epoch: 7,
		AcceptedAt: at(0), StoppedAt: at(5), ClosedAt: at(6), CommittedAt: at(7), OpenedAt: at(15),
		OpenedLog: &v1alpha1.OpenedLog{Segment: 9, Offset: 240}, Window: &metav1.Duration{Duration: 10 * time.Millisecond},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	for _, conditionType := range []string{v1alpha1.ConditionAccepted, v1alpha1.ConditionSourceClosed, v1alpha1.ConditionCommitted, v1alpha1.ConditionTargetOpened, v1alpha1.ConditionReady} {
		if !condition.IsTrue(conditions, conditionType) {
			t.Errorf("condition %s is not True", conditionType)
		}
	}
	if ready, _ := condition.Get(conditions, v1alpha1.ConditionReady); ready.Message != "The stream went from node-a to node-b." {
		t.Errorf("message of Ready: %q", ready.Message)
	}
}

func TestTransferStatusSaysWhatIsWaitedFor(t *testing.T) {
	transfer := transferTo("node-b", nil)
	got := TransferStatus(transfer, streamAt(pendingTo("node-b")), TransferDecision{Action: TransferWait, Reason: v1alpha1.ReasonAccepted, Message: "node node-a closes the stream"}, micro)
	if got.Phase != v1alpha1.TransferPending || got.WaitingFor != "node node-a closes the stream" {
		t.Errorf("phase %s, waiting for %q", got.Phase, got.WaitingFor)
	}
	if !condition.IsTrue(got.Conditions, v1alpha1.ConditionReconciling) || condition.IsTrue(got.Conditions, v1alpha1.ConditionStalled) {
		t.Errorf("conditions: %+v", got.Conditions)
	}
	got = TransferStatus(transfer, streamAt(completed(v1alpha1.StreamOpening)), TransferDecision{Action: TransferWait, Reason: v1alpha1.ReasonCommitted, Message: "node node-b opens the stream"}, micro)
	if got.Phase != v1alpha1.TransferOpening || condition.IsTrue(got.Conditions, v1alpha1.ConditionTargetOpened) {
		t.Errorf("phase %s, conditions %+v", got.Phase, got.Conditions)
	}
}
