package session

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/handoff"
	"github.com/streamshift/streamshift/internal/routing"
)

// TestASourceThatCannotCompleteServesOn: the API server goes away after the source saw the transfer. The source closes,
// serves again after a bound, and closes again before it completes.
func TestASourceThatCannotCompleteServesOn(t *testing.T) {
	h := newHarness(t)
	if err := h.append("before"); err != nil {
		t.Fatal(err)
	}
	h.accept()
	h.setAway(true)
	h.untilClosedInVain()
	if d := routing.Decide("a", h.situation()); d.Act != routing.Conflict {
		t.Errorf("a closed source: %+v, want to send on to the target", d)
	}
	h.pass(cutOffAfter)
	h.until("the source serves again", func() bool { return h.situation().Log != nil })
	if d := routing.Decide("a", h.situation()); d.Act != routing.Serve {
		t.Errorf("a source that resumed: %+v, want to serve", d)
	}
	if err := h.append("meanwhile"); err != nil {
		t.Errorf("appending while the register is out of reach: %v", err)
	}
	resumed := h.situation().Log
	h.setAway(false)
	h.until("the transfer is complete", func() bool { return h.register().Node == "b" })
	if _, err := resumed.Append(t.Context(), engine.Append{Messages: [][]byte{[]byte("late")}}); !errors.Is(err, engine.ErrSessionClosed) {
		t.Errorf("appending to the session that resumed: %v, want %v", err, engine.ErrSessionClosed)
	}
	if last := h.register().LastTransfer; last.ClosedEpoch != 1 || last.Tail == 0 {
		t.Errorf("the completion says %+v, want epoch 1 and the tail of the second close", last)
	}
	log, err := h.node.Engine.Open(t.Context(), Opening{Stream: "uid-1", Epoch: 2, Session: "target", Tail: h.register().LastTransfer.Tail})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Abandon()
	if got, want := log.Info().Tail, engine.Offset(len("before")+len("meanwhile")); got != want {
		t.Errorf("the target finds %d bytes, want %d", got, want)
	}
}

// TestACompletionThatWasTakenUnseenFencesTheSource: the answer got lost, the target opens, and the source must not serve.
func TestACompletionThatWasTakenUnseenFencesTheSource(t *testing.T) {
	h := newHarness(t)
	h.accept()
	h.setAway(true)
	h.untilClosedInVain()
	log, err := h.node.Engine.Open(t.Context(), Opening{Stream: "uid-1", Epoch: 2, Session: "target"})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Abandon()
	h.pass(cutOffAfter)
	h.until("the source is fenced", func() bool { return h.phase() == handoff.SessionFenced })
	if h.situation().Log != nil {
		t.Error("a fenced source serves")
	}
}

// TestAWithdrawnTransferLeavesTheResumedSessionOpen: it was never needed to close it.
func TestAWithdrawnTransferLeavesTheResumedSessionOpen(t *testing.T) {
	h := newHarness(t)
	h.accept()
	h.setAway(true)
	h.untilClosedInVain()
	h.pass(cutOffAfter)
	h.until("the source serves again", func() bool { return h.situation().Log != nil })
	h.change(func(s *v1alpha1.StreamStatus) { s.PendingTransfer = nil })
	h.setAway(false)
	h.until("the source knows", func() bool { return h.situation().Pending == nil && !h.situation().CutOff })
	if epoch := h.register().Epoch; h.situation().Log == nil || epoch != 1 {
		t.Errorf("the session is %s and the register at epoch %d, want the same session at epoch 1", h.phase(), epoch)
	}
}

// TestATargetSendsRequestsBackAfterAWhile: to the source, which serves again or is about to complete.
func TestATargetSendsRequestsBackAfterAWhile(t *testing.T) {
	h := newHarness(t)
	source := &v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Status: v1alpha1.StreamNodeStatus{Address: "http://b"}}
	if err := h.server.Create(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	h.change(func(s *v1alpha1.StreamStatus) {
		s.Node = "b"
		s.PendingTransfer = &v1alpha1.PendingTransfer{Name: "t", UID: "t-1", Source: "b", Target: "a"}
	})
	h.see()
	h.until("the session is dropped", func() bool { return h.phase() == handoff.SessionNone })
	if d := routing.Decide("a", h.situation()); d.Act != routing.Park {
		t.Errorf("at first: %+v, want to park", d)
	}
	h.pass(giveBackAfter - time.Millisecond)
	h.until("it was looked at", func() bool { return true })
	if h.situation().Overdue {
		t.Error("a moment too early")
	}
	_, _, changed := h.node.host.situation(routing.Stream{Namespace: h.key.Namespace, Name: h.key.Name})
	h.pass(time.Millisecond)
	h.until("the transfer is overdue", func() bool { return h.situation().Overdue })
	<-changed // who waits is told
	if d := routing.Decide("a", h.situation()); d.Act != routing.Redirect || d.Node != "b" {
		t.Errorf("afterwards: %+v, want to send back to b", d)
	}
	h.until("the source's address is known", func() bool {
		address, err := NewDirectory(h.node).Address(t.Context(), "b")
		return err == nil && address == "http://b"
	})
	h.setAway(true)
	h.pass(time.Hour)
	if address, err := NewDirectory(h.node).Address(t.Context(), "b"); err != nil || address != "http://b" {
		t.Errorf("the source's address while the API server is away: %q, %v", address, err)
	}
}

// TestANodeThatWasTakenOverNoticesWithoutAnAppend: its lease has run out and the API server tells it nothing.
func TestANodeThatWasTakenOverNoticesWithoutAnAppend(t *testing.T) {
	h := newHarness(t)
	h.setAway(true)
	h.node.checkFences(t.Context())
	old := h.situation().Log
	if old == nil {
		t.Fatal("a session that nobody fenced does not serve any more")
	}
	log, err := h.node.Engine.Open(t.Context(), Opening{Stream: "uid-1", Epoch: 2, Session: "rescuer"})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Abandon()
	reader := make(chan error, 1)
	go func() { reader <- old.Wait(t.Context(), old.Info().Tail) }()
	h.node.checkFences(t.Context())
	if err := <-reader; !errors.Is(err, engine.ErrSessionClosed) {
		t.Errorf("a reader that waits: %v, want %v", err, engine.ErrSessionClosed)
	}
	h.until("the node knows that it is fenced", func() bool { return h.phase() == handoff.SessionFenced })
	if d := routing.Decide("a", h.situation()); d.Act == routing.Serve {
		t.Errorf("requests: %+v, want not to serve", d)
	}
}

// untilClosedInVain reconciles until the source has closed and has proposed the completion in vain.
func (h *harness) untilClosedInVain() {
	h.Helper()
	h.until("the source has closed and cannot complete", func() bool {
		h.node.host.mu.Lock()
		defer h.node.host.mu.Unlock()
		e := h.node.host.entries[h.key]
		return e.session.Phase == handoff.SessionClosed && !e.unansweredSince.IsZero()
	})
}
