package kubectlstream

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

// transferOf is a transfer of stream orders to node-b with these conditions.
func transferOf(set ...condition.Condition) *v1alpha1.StreamTransfer {
	return &v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "move"},
		Spec:       v1alpha1.StreamTransferSpec{Stream: "orders", Target: "node-b"},
		Status:     v1alpha1.StreamTransferStatus{Source: "node-a", Target: "node-b", Conditions: conditions(set...)},
	}
}

func TestOutcomeOf(t *testing.T) {
	succeeded := func(reason, message string, epoch int64) *v1alpha1.StreamTransfer {
		transfer := transferOf(condition.True(v1alpha1.ConditionReady, reason, message))
		transfer.Status.Epoch = epoch
		return transfer
	}
	timed := succeeded(v1alpha1.ReasonSucceeded, "The stream went from node-a to node-b.", 7)
	timed.Status.Window = &metav1.Duration{Duration: 12345678 * time.Nanosecond}
	waiting := transferOf(condition.False(v1alpha1.ConditionReady, v1alpha1.ReasonAccepted, "Waiting."))
	waiting.Status.WaitingFor = "node node-a closes the stream"
	ended := func(reason, message string) *v1alpha1.StreamTransfer {
		return transferOf(condition.False(v1alpha1.ConditionReady, reason, message), condition.True(v1alpha1.ConditionStalled, reason, message))
	}
	for name, c := range map[string]struct {
		transfer *v1alpha1.StreamTransfer
		want     outcome
		sentence string
	}{
		"nobody has looked at it": {transferOf(), underWay, "streamtransfer/move waits for: the manager to look at it"},
		"it waits":                {waiting, underWay, "streamtransfer/move waits for: node node-a closes the stream"},
		"it went well":            {timed, moved, "stream/orders went from node-a to node-b, epoch 7 to 8; appends waited 12.3ms"},
		"it went well, untimed": {
			succeeded(v1alpha1.ReasonSucceeded, "", 7), moved, "stream/orders went from node-a to node-b, epoch 7 to 8",
		},
		"there was nothing to do": {
			succeeded(v1alpha1.ReasonAlreadyOnTarget, "Node node-b owns the stream already.", 0), moved, "stream/orders: Node node-b owns the stream already",
		},
		"too late to cancel": {
			succeeded(v1alpha1.ReasonTooLateToCancel, "It was committed already.", 7), moved, "stream/orders is on node-b at epoch 8: It was committed already",
		},
		"taken over": {
			succeeded(v1alpha1.ReasonTakenOver, "Taken over from node-a.", 7), moved, "stream/orders is on node-b at epoch 8: Taken over from node-a",
		},
		"cancelled": {ended(v1alpha1.ReasonCancelled, "Cancelled."), withdrawn, "streamtransfer/move was cancelled: nothing moved"},
		"failed": {
			ended(v1alpha1.ReasonTargetFull, "Target node node-b has no free slot."), failed,
			"streamtransfer/move failed: Target node node-b has no free slot (TargetFull)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, sentence := outcomeOf(c.transfer)
			if got != c.want || sentence != c.sentence {
				t.Errorf("got  %d %s\nwant %d %s", got, sentence, c.want, c.sentence)
			}
		})
	}
}
