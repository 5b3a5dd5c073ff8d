package session

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/engine/store"
	"github.com/streamshift/streamshift/internal/handoff"
)

// TestANodeWithAnotherStoreDoesNotOpen: it would begin the log anew, and clients would find an empty stream. Whoever knows that the store
// has lost what is missing may give it up.
func TestANodeWithAnotherStoreDoesNotOpen(t *testing.T) {
	h := newHarness(t)
	if err := h.append("acknowledged"); err != nil {
		t.Fatal(err)
	}
	other, err := store.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	h.node.Engine.(*StoreEngine).Store = other
	h.change(func(s *v1alpha1.StreamStatus) { s.Epoch, s.State = 2, v1alpha1.StreamOpening })
	h.see()
	h.until("an attempt has failed", func() bool { return h.node.host.view(h.key, h.clock()).openAfter.After(h.clock()) })
	h.pass(longestOpenPause)

	var ready metav1.Condition
	h.until("the condition says that the stream cannot be opened", func() bool {
		ready, _ = condition.Get(h.register().Conditions, v1alpha1.ConditionReady)
		return ready.Reason == v1alpha1.ReasonCannotOpen
	})
	if want := "this is not the object store that it is in"; !strings.Contains(ready.Message, want) {
		t.Errorf("it says %q, want %q in it", ready.Message, want)
	}
	if written, err := other.List(t.Context(), "", "", 10); err != nil || len(written) > 0 {
		t.Errorf("it wrote %v (%v), want nothing", written, err)
	}

	stream := h.stream()
	stream.Annotations = map[string]string{v1alpha1.AnnotationAcceptLogEnd: "0"}
	if err := h.server.Update(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	h.see()
	h.pass(longestOpenPause)
	h.until("the stream is open", func() bool { return h.register().State == v1alpha1.StreamOpen && h.situation().Log != nil })
}

func TestTheRegisterKnowsHowFarALogReaches(t *testing.T) {
	opened := v1alpha1.StreamStatus{Epoch: 4, OpenedLog: &v1alpha1.OpenedLog{Segment: 7}}
	with := func(change func(*v1alpha1.StreamStatus)) *v1alpha1.StreamStatus {
		status := opened.DeepCopy()
		change(status)
		return status
	}
	accepting := func(end string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationAcceptLogEnd: end}}
	}
	deleted := metav1.ObjectMeta{DeletionTimestamp: new(metav1.Now()), Finalizers: []string{v1alpha1.FinalizerLog}}
	transferred := func(epoch int64) func(*v1alpha1.StreamStatus) {
		return func(s *v1alpha1.StreamStatus) { s.LastTransfer = &v1alpha1.LastTransfer{ClosedEpoch: epoch, Tail: 12} }
	}
	tests := map[string]struct {
		meta   metav1.ObjectMeta
		status *v1alpha1.StreamStatus
		want   int64
	}{
		"never opened":                       {status: &v1alpha1.StreamStatus{Epoch: 1}},
		"opened":                             {status: &opened, want: 7},
		"closed for a restart":               {status: with(func(s *v1alpha1.StreamStatus) { s.Tail = 9 }), want: 9},
		"transferred":                        {status: with(transferred(3)), want: 12},
		"opened since the transfer":          {status: with(transferred(2)), want: 12},
		"being deleted, its log as well":     {meta: deleted, status: &opened},
		"being deleted, its log stays":       {meta: metav1.ObjectMeta{DeletionTimestamp: deleted.DeletionTimestamp}, status: &opened, want: 7},
		"an earlier end is accepted":         {meta: accepting("3"), status: &opened, want: 3},
		"a later end is accepted":            {meta: accepting("30"), status: &opened, want: 7},
		"that there is no log is accepted":   {meta: accepting("0"), status: &opened},
		"what is accepted is below 0":        {meta: accepting("-3"), status: &opened},
		"what is accepted is no number":      {meta: accepting("all"), status: &opened, want: 7},
		"nothing is said of what to accept":  {meta: accepting(""), status: &opened, want: 7},
		"opened, and the transfer has ended": {status: with(func(s *v1alpha1.StreamStatus) { transferred(3)(s); s.OpenedLog.Segment = 13 }), want: 13},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := knownSegment(&v1alpha1.Stream{ObjectMeta: tt.meta, Status: *tt.status}); got != tt.want {
				t.Errorf("segment %d is known, want %d", got, tt.want)
			}
		})
	}
}

// TestWhatIsKnownOfALogStaysKnown: a node that refuses to open it may be restarted, and the stream may be taken elsewhere.
func TestWhatIsKnownOfALogStaysKnown(t *testing.T) {
	stream := &v1alpha1.Stream{Status: v1alpha1.StreamStatus{Node: "a", Epoch: 3, State: v1alpha1.StreamOpen, OpenedLog: &v1alpha1.OpenedLog{Segment: 1}}}
	pend := func() {
		stream.Status.PendingTransfer = &v1alpha1.PendingTransfer{Name: "t", UID: "t", Source: stream.Status.Node, Target: stream.Status.Node + "'", Force: true}
	}
	now := metav1.Now().Rfc3339Copy()
	at := metav1.NewMicroTime(now.Time)
	for _, step := range []struct {
		name string
		next func() handoff.Step
	}{
		{"closed at 12 and completed", func() handoff.Step { pend(); return handoff.CompleteTransfer(stream, handoff.Closing{Tail: 12}, at) }},
		{"the target is restarted", func() handoff.Step { return handoff.ReopenAt(stream, 5, at) }},
		{"it goes on without a session", func() handoff.Step { pend(); return handoff.CompleteTransfer(stream, handoff.Closing{}, at) }},
		{"it is taken over", func() handoff.Step { pend(); return handoff.TakeOver(stream, at) }},
		{"its owner is restarted again", func() handoff.Step { return handoff.ReopenAt(stream, 9, at) }},
	} {
		stream.Status = step.next().Next
		if known := knownSegment(stream); known != 12 {
			t.Errorf("%s: segment %d is known, want 12", step.name, known)
		}
	}
}
