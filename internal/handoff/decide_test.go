package handoff

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

const me = "node-a"

// registers are the registers that a node can see, by owner, epoch, state and pending transfer.
func registers() []v1alpha1.StreamStatus {
	all := []v1alpha1.StreamStatus{{ObservedGeneration: -1}}
	for _, node := range []string{me, "node-b"} {
		for epoch := int64(1); epoch <= 3; epoch++ {
			for _, state := range []v1alpha1.StreamState{v1alpha1.StreamOpening, v1alpha1.StreamOpen, v1alpha1.StreamClosed} {
				for _, target := range []string{"", me, "node-b", "node-c"} {
					if target == node {
						continue
					}
					status := v1alpha1.StreamStatus{Node: node, Epoch: epoch, State: state}
					if target != "" {
						status.PendingTransfer = &v1alpha1.PendingTransfer{Name: "t", UID: "u", Source: node, Target: target}
					}
					all = append(all, status)
				}
			}
		}
	}
	return all
}

// sessions are the sessions that a node can have.
func sessions() []Session {
	all := []Session{{}, {MayOpen: 1}, {MayOpen: 2}, {MayOpen: 3}}
	for epoch := int64(1); epoch <= 3; epoch++ {
		for _, phase := range []SessionPhase{SessionOpening, SessionOpen, SessionClosing, SessionClosed} {
			all = append(all, Session{Phase: phase, Epoch: epoch}, Session{Phase: phase, Epoch: epoch, CutOff: true})
		}
		for log := epoch; log <= 4; log++ {
			all = append(all, Session{Phase: SessionFenced, Epoch: epoch, LogEpoch: log})
		}
	}
	return all
}

// TestDecideKeepsItsRules looks at every register beside every session.
func TestDecideKeepsItsRules(t *testing.T) {
	rules := map[string]func(*v1alpha1.StreamStatus, Session, Decision) bool{
		"every decision has a reason": func(_ *v1alpha1.StreamStatus, _ Session, d Decision) bool { return d.Reason != "" },
		"only the owner opens, closes, completes, reopens or says open": func(r *v1alpha1.StreamStatus, _ Session, d Decision) bool {
			return r.Node == me || d.Action == Wait || d.Action == Drop
		},
		"a session opens only at the register's epoch, and only where this process may": func(r *v1alpha1.StreamStatus, s Session, d Decision) bool {
			return d.Action != Open || d.Epoch == r.Epoch && s.MayOpen == r.Epoch && s.Phase == SessionNone && r.State == v1alpha1.StreamOpening
		},
		"nothing opens or reopens while a transfer takes the stream away": func(r *v1alpha1.StreamStatus, _ Session, d Decision) bool {
			return r.PendingTransfer == nil || d.Action != Open && d.Action != Reopen && d.Action != RecordOpened
		},
		"a completion is proposed only while no session of this node could acknowledge": func(r *v1alpha1.StreamStatus, s Session, d Decision) bool {
			return d.Action != Complete || r.PendingTransfer != nil && (s.Phase == SessionNone || s.Phase == SessionClosed || s.Phase == SessionFenced)
		},
		"a completion is for the register's epoch": func(r *v1alpha1.StreamStatus, _ Session, d Decision) bool {
			return d.Action != Complete || d.Epoch == r.Epoch
		},
		"a reopen raises the epoch above the register's, the session's and the log's": func(r *v1alpha1.StreamStatus, s Session, d Decision) bool {
			return d.Action != Reopen || d.Epoch > r.Epoch && d.Epoch > s.Epoch && d.Epoch > s.LogEpoch
		},
		"a session is closed only for a pending transfer": func(r *v1alpha1.StreamStatus, s Session, d Decision) bool {
			return d.Action != Close || r.PendingTransfer != nil && s.Phase == SessionOpen
		},
		"an open session at the register's epoch is not dropped by its owner": func(r *v1alpha1.StreamStatus, s Session, d Decision) bool {
			return d.Action != Drop || r.Node != me || s.Phase != SessionOpen || s.Epoch != r.Epoch
		},
		"the owner waits only for work under way, or while it serves": func(r *v1alpha1.StreamStatus, s Session, d Decision) bool {
			return d.Action != Wait || r.Node != me || s.Phase == SessionOpening || s.Phase == SessionClosing ||
				s.Phase == SessionOpen && s.Epoch == r.Epoch && r.State == v1alpha1.StreamOpen && r.PendingTransfer == nil ||
				s.Phase == SessionOpen && s.Epoch == r.Epoch && r.PendingTransfer != nil && s.CutOff
		},
		"a session resumes only at its own epoch, which is the register's, and only while the register cannot be reached": func(r *v1alpha1.StreamStatus, s Session, d Decision) bool {
			return d.Action != Resume || s.CutOff && s.Phase == SessionClosed && d.Epoch == s.Epoch && s.Epoch == r.Epoch
		},
		"a closed session resumes while the register cannot be reached": func(r *v1alpha1.StreamStatus, s Session, d Decision) bool {
			return d.Action == Resume || r.Node != me || !s.CutOff || s.Phase != SessionClosed || s.Epoch != r.Epoch
		},
		"a session that is not the owner's ends": func(r *v1alpha1.StreamStatus, s Session, d Decision) bool {
			return r.Node == me || s.Phase == SessionNone || d.Action == Drop
		},
	}
	for _, register := range registers() {
		for _, session := range sessions() {
			decision := Decide(me, &register, session)
			for rule, holds := range rules {
				if !holds(&register, session, decision) {
					t.Errorf("%s: register %s, session %+v: %s at %d", rule, describe(&register), session, decision.Action, decision.Epoch)
				}
			}
		}
	}
}

func TestDecide(t *testing.T) {
	pendingTo := func(target string) *v1alpha1.PendingTransfer {
		return &v1alpha1.PendingTransfer{Name: "t", UID: "u", Source: me, Target: target}
	}
	for name, c := range map[string]struct {
		register   v1alpha1.StreamStatus
		session    Session
		want       Action
		wantEpoch  int64
		wantReason string
	}{
		"a stream placed here while this process watches is opened at the assigned epoch": {
			v1alpha1.StreamStatus{Node: me, Epoch: 2, State: v1alpha1.StreamOpening}, Session{MayOpen: 2}, Open, 2, "placed here"},
		"one found placed here at the start is reopened": {
			v1alpha1.StreamStatus{Node: me, Epoch: 2, State: v1alpha1.StreamOpening}, Session{}, Reopen, 3, "earlier process"},
		"an open session is recorded": {
			v1alpha1.StreamStatus{Node: me, Epoch: 2, State: v1alpha1.StreamOpening}, Session{Phase: SessionOpen, Epoch: 2}, RecordOpened, 2, "does not say so"},
		"a pending transfer closes the session": {
			v1alpha1.StreamStatus{Node: me, Epoch: 2, State: v1alpha1.StreamOpen, PendingTransfer: pendingTo("node-b")}, Session{Phase: SessionOpen, Epoch: 2}, Close, 2, "node-b"},
		"a closed session completes": {
			v1alpha1.StreamStatus{Node: me, Epoch: 2, State: v1alpha1.StreamOpen, PendingTransfer: pendingTo("node-b")}, Session{Phase: SessionClosed, Epoch: 2}, Complete, 2, "closed at epoch 2"},
		"a source that restarted completes without opening": {
			v1alpha1.StreamStatus{Node: me, Epoch: 2, State: v1alpha1.StreamOpen, PendingTransfer: pendingTo("node-b")}, Session{}, Complete, 2, "none at epoch 2"},
		"a transfer withdrawn before the close changes nothing": {
			v1alpha1.StreamStatus{Node: me, Epoch: 2, State: v1alpha1.StreamOpen}, Session{Phase: SessionOpen, Epoch: 2}, Wait, 2, "serves"},
		"one withdrawn after the close reopens at the next epoch": {
			v1alpha1.StreamStatus{Node: me, Epoch: 2, State: v1alpha1.StreamOpen}, Session{Phase: SessionClosed, Epoch: 2}, Reopen, 3, "stays here"},
		"a stream that was completed and comes back is opened anew": {
			v1alpha1.StreamStatus{Node: me, Epoch: 4, State: v1alpha1.StreamOpening}, Session{MayOpen: 4}, Open, 4, "placed here"},
		"a register behind the log is raised above it": {
			v1alpha1.StreamStatus{Node: me, Epoch: 2, State: v1alpha1.StreamOpen}, Session{Phase: SessionFenced, Epoch: 2, LogEpoch: 5}, Reopen, 6, "log is at epoch 5"},
		"a register set back below the session is raised above it": {
			v1alpha1.StreamStatus{Node: me, Epoch: 2, State: v1alpha1.StreamOpen}, Session{Phase: SessionOpen, Epoch: 4}, Reopen, 5, "set back"},
		"a stream that was taken over is dropped": {
			v1alpha1.StreamStatus{Node: "node-b", Epoch: 3, State: v1alpha1.StreamOpen}, Session{Phase: SessionOpen, Epoch: 2}, Drop, 2, "node-b"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Decide(me, &c.register, c.session)
			if got.Action != c.want || got.Epoch != c.wantEpoch || !strings.Contains(got.Reason, c.wantReason) {
				t.Errorf("got %s at %d because %q, want %s at %d because %q", got.Action, got.Epoch, got.Reason, c.want, c.wantEpoch, c.wantReason)
			}
		})
	}
}

func describe(r *v1alpha1.StreamStatus) string {
	pending := "none"
	if r.PendingTransfer != nil {
		pending = r.PendingTransfer.Target
	}
	return fmt.Sprintf("(node %q, epoch %d, %s, pending to %s)", r.Node, r.Epoch, r.State, pending)
}
