package model

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/handoff"
)

// TestTheEvidenceOfAnOpeningStays: where a stream was opened last is written by that opening, and cannot be rewritten. The rules are the server's; the steps are patches that test nothing.
func TestTheEvidenceOfAnOpeningStays(t *testing.T) {
	transfers = contradicting
	a := must(newArbiter())
	at := &v1alpha1.OpenedLog{Segment: 7, Offset: 24}
	opening := register{node: 1, epoch: 2, state: 1}.stream()
	open := opening.DeepCopy()
	open.Status = handoff.Opened(opening, metav1.MicroTime{}, at).Next
	pending := open.DeepCopy()
	pending.Status.PendingTransfer = register{node: 1, epoch: 2, state: 2, pending: 1}.stream().Status.PendingTransfer
	reopening := open.DeepCopy()
	reopening.Status = handoff.ReopenAt(open, 3, metav1.MicroTime{}).Next
	if reopening.Status.OpenedLog == nil || handoff.CompleteTransfer(pending, handoff.Closing{}, metav1.MicroTime{}).Next.OpenedLog == nil {
		t.Error("steps drop the evidence")
	}
	for name, c := range map[string]struct {
		from    *v1alpha1.Stream
		to      v1alpha1.StreamStatus
		allowed bool
	}{
		"an opening writes it":           {opening, handoff.Opened(opening, metav1.MicroTime{}, at).Next, true},
		"one may leave it out":           {opening, handoff.Opened(opening, metav1.MicroTime{}, nil).Next, true},
		"a reopening keeps it":           {open, handoff.ReopenAt(open, 3, metav1.MicroTime{}).Next, true},
		"a completion keeps it":          {pending, handoff.CompleteTransfer(pending, handoff.Closing{}, metav1.MicroTime{}).Next, true},
		"an acceptance keeps it":         {open, pending.Status, true},
		"it is rewritten":                {open, with(open, &v1alpha1.OpenedLog{Segment: 8, Offset: 24}), false},
		"it is removed":                  {open, with(open, nil), false},
		"an opening replaces it":         {reopening, handoff.Opened(reopening, metav1.MicroTime{}, &v1alpha1.OpenedLog{Segment: 9, Offset: 30}).Next, true},
		"it is there before any opening": {opening, with(opening, at), false},
		"a reopening brings another one": {open, withAt(handoff.ReopenAt(open, 3, metav1.MicroTime{}).Next, &v1alpha1.OpenedLog{Segment: 9}), false},
		"a process of before removes it": {open, withAt(handoff.ReopenAt(open, 3, metav1.MicroTime{}).Next, nil), true},
	} {
		t.Run(name, func(t *testing.T) {
			patch := must(json.Marshal([]map[string]any{{"op": "add", "path": "/status", "value": c.to}}))
			if got := a.apply(registerOf(&c.from.Status), c.from, handoff.Step{Patch: patch}); got.taken != c.allowed {
				t.Errorf("the server takes it: %t, want %t", got.taken, c.allowed)
			}
		})
	}
}

func with(stream *v1alpha1.Stream, at *v1alpha1.OpenedLog) v1alpha1.StreamStatus {
	return withAt(*stream.Status.DeepCopy(), at)
}

func withAt(status v1alpha1.StreamStatus, at *v1alpha1.OpenedLog) v1alpha1.StreamStatus {
	status.OpenedLog = at
	return status
}
