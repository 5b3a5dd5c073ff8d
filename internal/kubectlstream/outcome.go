package kubectlstream

import (
	"fmt"
	"strings"
	"time"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/handoff"
)

// outcome is how a transfer stands, for somebody who waits for its end.
type outcome int

const (
	// underWay: it has not ended.
	underWay outcome = iota
	// moved: it ended well; the stream is on its target.
	moved
	// withdrawn: it was cancelled, and nothing moved.
	withdrawn
	// failed: it ended without success, for another reason.
	failed
)

// outcomeOf judges a transfer by its conditions, and tells it in one sentence.
func outcomeOf(transfer *v1alpha1.StreamTransfer) (outcome, string) {
	ready, _ := condition.Get(transfer.Status.Conditions, v1alpha1.ConditionReady)
	why := strings.TrimSuffix(ready.Message, ".")
	switch {
	case !handoff.Terminal(transfer):
		return underWay, fmt.Sprintf("streamtransfer/%s waits for: %s", transfer.Name, waitingText(transfer))
	case condition.IsTrue(transfer.Status.Conditions, v1alpha1.ConditionReady):
		return moved, movedText(transfer, why)
	case ready.Reason == v1alpha1.ReasonCancelled:
		return withdrawn, fmt.Sprintf("streamtransfer/%s was cancelled: nothing moved", transfer.Name)
	}
	return failed, fmt.Sprintf("streamtransfer/%s failed: %s (%s)", transfer.Name, why, ready.Reason)
}

func movedText(transfer *v1alpha1.StreamTransfer, why string) string {
	status := &transfer.Status
	ready, _ := condition.Get(status.Conditions, v1alpha1.ConditionReady)
	stream := "stream/" + shownName(transfer.Spec.Stream)
	switch {
	case status.Epoch == 0: // the stream was there already
		return fmt.Sprintf("%s: %s", stream, why)
	case ready.Reason != v1alpha1.ReasonSucceeded:
		return fmt.Sprintf("%s is on %s at epoch %d: %s", stream, status.Target, status.Epoch+1, why)
	}
	text := fmt.Sprintf("%s went from %s to %s, epoch %d to %d", stream, status.Source, status.Target, status.Epoch, status.Epoch+1)
	if status.Window != nil {
		text += fmt.Sprintf("; appends waited %s", status.Window.Round(time.Millisecond/10))
	}
	return text
}
