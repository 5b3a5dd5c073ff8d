package handoff

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/admission"
	"github.com/streamshift/streamshift/internal/condition"
)

// TestATransferWhoseTargetDoesNotOpen waits, says why, and ends once another transfer takes the stream on.
func TestATransferWhoseTargetDoesNotOpen(t *testing.T) {
	failing := streamAt(completed(v1alpha1.StreamOpening))
	failing.Status.Conditions = CannotOpen(failing, errors.New("the object store refuses").Error(), metav1.NewMicroTime(moment)).Next.Conditions
	for name, c := range map[string]struct {
		stream      *v1alpha1.Stream
		superseded  bool
		want        TransferAction
		wantReason  string
		wantMessage string
	}{
		"it opens":                        {streamAt(completed(v1alpha1.StreamOpening)), false, TransferWait, v1alpha1.ReasonCommitted, "node node-b opens"},
		"it fails and goes on":            {failing, false, TransferWait, v1alpha1.ReasonCannotOpen, "the object store refuses"},
		"another transfer takes it on":    {failing, true, TransferFail, v1alpha1.ReasonNotOpened, "node-b, which did not open it"},
		"it opened before that was known": {streamAt(completed(v1alpha1.StreamOpen)), true, TransferSucceed, v1alpha1.ReasonSucceeded, "to node-b"},
	} {
		t.Run(name, func(t *testing.T) {
			got := DecideTransfer(TransferView{
				View: admission.View{Transfer: transferTo("node-b", nil), Stream: c.stream, Target: readyNode("node-b")}, LastSettled: true,
				Superseded: c.superseded, Now: moment,
			})
			if got.Action != c.want || got.Reason != c.wantReason || !strings.Contains(got.Message, c.wantMessage) {
				t.Errorf("got %s, %s: %q, want %s, %s: %q", got.Action, got.Reason, got.Message, c.want, c.wantReason, c.wantMessage)
			}
		})
	}
}

func TestAnOwnerSaysThatItsOpeningFails(t *testing.T) {
	opening := streamAt(completed(v1alpha1.StreamOpening))
	failing, open := opening.DeepCopy(), opening.DeepCopy()
	failing.Status = CannotOpen(opening, "no", metav1.NewMicroTime(moment)).Next
	open.Status = Opened(failing, metav1.NewMicroTime(moment), nil).Next
	left := failing.DeepCopy() // what an owner before said
	left.Status.State = v1alpha1.StreamOpen
	for name, c := range map[string]struct {
		stream *v1alpha1.Stream
		want   bool
	}{
		"it opens": {opening, false}, "it fails": {failing, true}, "it opened after all": {open, false}, "it is open, whatever was said": {left, false},
	} {
		if problem, fails := OpeningFails(c.stream); fails != c.want || c.want && !strings.Contains(problem, "no") {
			t.Errorf("%s: it fails: %t, %q; want %t", name, fails, problem, c.want)
		}
	}
}

// TestANoteKeepsWhatTheOwnerSays: that it cannot open the stream is the owner's to say, once an epoch.
func TestANoteKeepsWhatTheOwnerSays(t *testing.T) {
	failing := streamAt(completed(v1alpha1.StreamOpening))
	failing.Status.Conditions = CannotOpen(failing, "no", metav1.NewMicroTime(moment)).Next.Conditions
	for name, c := range map[string]struct {
		step Step
		want string
	}{
		"a note":      {Note(failing, metav1.NewMicroTime(moment)), v1alpha1.ReasonCannotOpen},
		"that it did": {Opened(failing, metav1.NewMicroTime(moment), nil), v1alpha1.ReasonOpen},
	} {
		t.Run(name, func(t *testing.T) {
			if ready, _ := condition.Get(c.step.Next.Conditions, v1alpha1.ConditionReady); ready.Reason != c.want {
				t.Errorf("Ready says %s, want %s", ready.Reason, c.want)
			}
		})
	}
}

func TestAProblemOfAnyLengthFitsTheCondition(t *testing.T) {
	for _, size := range []int{0, maxProblem, maxProblem + 1, 1 << 20} {
		next := CannotOpen(streamAt(nil), strings.Repeat("é", size), metav1.NewMicroTime(moment)).Next
		if ready, _ := condition.Get(next.Conditions, v1alpha1.ConditionReady); len(ready.Message) > 2*maxProblem {
			t.Errorf("a problem of %d letters makes a message of %d bytes", size, len(ready.Message))
		}
	}
}

func TestAnOpeningIsOverdue(t *testing.T) {
	const within = 30 * time.Second
	at := func(change func(*v1alpha1.Stream)) *v1alpha1.Stream {
		stream := streamAt(completed(v1alpha1.StreamOpening))
		stream.Status.LastTransfer.CommittedAt = metav1.NewMicroTime(moment)
		stream.Status.Conditions = condition.Merge(nil, 1, metav1.NewTime(moment.Add(-time.Hour)), condition.OfStream(&stream.Status)...)
		if change != nil {
			change(stream)
		}
		return stream
	}
	for name, c := range map[string]struct {
		stream *v1alpha1.Stream
		within time.Duration
		after  time.Duration
		want   bool
	}{
		"at the bound":                   {at(nil), within, within, true},
		"a nanosecond before":            {at(nil), within, within - 1, false},
		"never":                          {at(nil), 0, time.Hour, false},
		"one that is open":               {at(func(s *v1alpha1.Stream) { s.Status.State = v1alpha1.StreamOpen }), within, time.Hour, false},
		"one that nobody owns":           {at(func(s *v1alpha1.Stream) { s.Status.Node = "" }), within, time.Hour, false},
		"one that nobody spoke of":       {at(func(s *v1alpha1.Stream) { s.Status.Conditions = nil }), within, time.Hour, false},
		"one that was never transferred": {at(func(s *v1alpha1.Stream) { s.Status.LastTransfer = nil }), within, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := OpeningOverdue(c.stream, c.within, moment.Add(c.after)); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
		})
	}
}
