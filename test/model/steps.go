package model

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/admission"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/handoff"
)

// mutant is a rule broken on purpose.
type mutant struct {
	name string
	// patch changes what is proposed; unruled leaves the CRD's rules out.
	patch   func([]operation) []operation
	unruled bool
	// decide and decideTransfer replace the decisions.
	decide         func(me string, r *v1alpha1.StreamStatus, s handoff.Session) handoff.Decision
	decideTransfer func(handoff.TransferView) handoff.TransferDecision
	// staleOutcome records that nothing moved without reading the register afresh; unfenced lets the log accept any
	// opening and any append.
	staleOutcome, unfenced bool
	// waitsForTheDead lets no stream leave a node that is gone before it has opened it.
	waitsForTheDead bool
}

// kind of a step: the system's own, or a user's or fate's.
type kind int

const (
	system kind = iota
	outside
)

// walker yields the steps from a state.
type walker struct {
	arbiter *arbiter
	mutant  mutant
	yield   func(k kind, what func() string, next world)

	decisions map[decideKey]handoff.Decision
	judgments map[judgeKey]handoff.TransferDecision
}

type decideKey struct {
	me       int8
	register register
	session  session
}

type judgeKey struct {
	register register
	transfer int8
	object   object
	settled  bool
	gone     bool
	target   bool
	// superseded tells that another transfer takes the stream on from an owner that is gone.
	superseded bool
}

func say(format string, arguments ...any) func() string {
	return func() string { return fmt.Sprintf(format, arguments...) }
}

// steps yields every step that anybody can take from w.
func (k *walker) steps(w *world) {
	k.users(w)
	k.fate(w)
	k.lateArrivals(w)
	k.managerSteps(w)
	for i := int8(1); i <= nodeCount; i++ {
		k.nodeSteps(w, i)
	}
}

func (k *walker) users(w *world) {
	for i := 1; i <= transferCount; i++ {
		next := *w
		switch o := w.objects[i]; {
		case o.presence == absent && w.onlyTarget && i > 1:
			if r := w.manager.view; r.node != 0 && w.nodes[r.node].lapsed {
				next.objects[i].presence = present
				k.yield(system, say("manager makes %s to %s, since %s is gone", transfers[i].name, nodeNames[transfers[i].target], nodeNames[r.node]), next)
			}
		case o.presence == absent:
			next.objects[i].presence = present
			k.yield(outside, say("user creates %s to %s", transfers[i].name, nodeNames[transfers[i].target]), next)
		case o.presence == present && o.outcome == undecided:
			if w.cancels > 0 && !o.cancel {
				next.cancels--
				next.objects[i].cancel = true
				k.yield(outside, say("user cancels %s", transfers[i].name), next)
			}
			if w.deletes > 0 {
				next = *w
				next.deletes--
				next.objects[i].presence = deleted
				k.yield(outside, say("user deletes %s", transfers[i].name), next)
			}
		}
	}
}

func (k *walker) fate(w *world) {
	for i := int8(1); i <= nodeCount; i++ {
		n := w.nodes[i]
		switch {
		case w.onlyTarget && i != transfers[1].target, w.onlyTarget && !n.up:
		case n.up && w.crashes > 0:
			next := *w
			next.crashes--
			next.nodes[i] = nodeState{lapsed: n.lapsed}
			next.lose(i)
			k.yield(outside, say("%s crashes", nodeNames[i]), next)
		case !n.up:
			next := *w
			next.nodes[i].up = true
			k.yield(system, say("%s restarts", nodeNames[i]), next)
		}
		switch {
		case n.lapsed && n.up:
			next := *w
			next.nodes[i].lapsed = false
			k.yield(system, say("%s renews its lease", nodeNames[i]), next)
		case !n.lapsed && (!n.up || w.lapses > 0):
			next := *w
			next.nodes[i].lapsed = true
			by := system // of a node that is down for ever it is certain
			if n.up || !w.onlyTarget {
				by = outside
			}
			if n.up {
				next.lapses--
			}
			k.yield(by, say("the lease of %s runs out", nodeNames[i]), next)
		}
	}
}

// lateArrivals are writes that were on their way.
func (k *walker) lateArrivals(w *world) {
	if late := w.late; late.epoch != 0 {
		next := *w
		next.late = logEnd{}
		if late.epoch > w.log.epoch {
			next.log = late
		}
		k.yield(outside, say("the late opening of epoch %d by %s arrives", late.epoch, nodeNames[late.holder]), next)
	}
	for i := int8(1); i <= nodeCount; i++ {
		if seen := w.nodes[i].unanswered; seen != (register{}) {
			next := *w
			next.nodes[i].unanswered = register{}
			k.propose(&next, seen, "Complete", 0, 0, say("the late completion of %s at epoch %d arrives", nodeNames[i], seen.epoch), func(register) {})
		}
	}
}

func (k *walker) managerSteps(w *world) {
	m := w.manager
	if m.view != w.register {
		next := *w
		next.manager.view = w.register
		k.yield(system, say("manager sees: %s", w.register), next)
	}
	if m.objects != w.objects {
		next := *w
		next.manager.objects = w.objects
		k.yield(system, say("manager sees the transfers"), next)
	}
	if m.accepting != 0 {
		next := *w
		next.manager.accepting, next.manager.acceptOn = 0, register{}
		k.propose(&next, m.acceptOn, "Accept", m.accepting, 0, say("manager accepts %s", transfers[m.accepting].name), func(r register) {
			next.manager.view = r
		})
		return
	}
	if p := m.view.pending; p != 0 && (w.objects[p].presence == deleted || w.objects[p].outcome != undecided) {
		next := *w
		k.propose(&next, m.view, "Withdraw", 0, 0, say("manager withdraws %s, which is deleted or ended", transfers[p].name), func(r register) {
			next.manager.view = r
		})
	}
	for i := int8(1); i <= transferCount; i++ {
		if m.objects[i].presence == present {
			k.judge(w, i)
		}
	}
}

// judge has the manager decide about one transfer and act, as controllers/streamtransfer does.
func (k *walker) judge(w *world, i int8) {
	m, name := w.manager, transfers[i].name
	next := *w
	takeIn := func(r register) { next.manager.view = r }
	switch d := k.decideTransfer(w, i, m.objects[i]); d.Action {
	case handoff.TransferWait, handoff.TransferFinished:
	case handoff.TransferAccept:
		if fresh := w.objects[i]; fresh.presence == present && k.decideTransfer(w, i, fresh).Action == handoff.TransferAccept {
			next.manager.accepting, next.manager.acceptOn = i, m.view
			k.yield(system, say("manager reads %s afresh and finds it acceptable", name), next)
		}
	case handoff.TransferWithdraw:
		k.propose(&next, m.view, "Withdraw", 0, 0, say("manager withdraws %s", name), takeIn)
	case handoff.TransferTakeOver:
		k.propose(&next, m.view, "TakeOver", 0, 0, say("manager takes over by %s", name), takeIn)
	case handoff.TransferSettleLast:
		last := m.view.last
		switch k.decideTransferOn(w, m.view, last, m.objects[last], true).Action {
		case handoff.TransferSucceed:
			k.record(w, last, succeeded)
		case handoff.TransferFail:
			k.record(w, last, passedOn)
		case handoff.TransferCancel, handoff.TransferWait,
			handoff.TransferAccept, handoff.TransferWithdraw, handoff.TransferTakeOver, handoff.TransferSettleLast, handoff.TransferFinished:
		}
	case handoff.TransferSucceed:
		k.record(w, i, succeeded)
	case handoff.TransferFail, handoff.TransferCancel:
		k.confirm(w, i, d.Action)
	}
}

// confirm records that a transfer did not happen: only where the register, read afresh, does not say otherwise.
func (k *walker) confirm(w *world, i int8, action handoff.TransferAction) {
	if !k.mutant.staleOutcome && k.decideTransferOn(w, w.register, i, w.manager.objects[i], false).Action != action {
		return
	}
	if action == handoff.TransferFail {
		k.record(w, i, failed)
		return
	}
	k.record(w, i, cancelled)
}

// record writes an outcome, unless the object is not the version that the manager saw.
func (k *walker) record(w *world, i int8, o outcome) {
	next := *w
	if w.objects[i] != w.manager.objects[i] {
		return
	}
	next.objects[i].outcome = o // its own cache learns of it later
	k.yield(system, say("manager records that %s %s", transfers[i].name, [...]string{"", "succeeded", "failed", "was cancelled", "was passed on"}[o]), next)
}

func (k *walker) decideTransfer(w *world, i int8, o object) handoff.TransferDecision {
	return k.decideTransferOn(w, w.manager.view, i, o, false)
}

// decideTransferOn decides on a register that the manager saw, with what it knows of the transfers. Last is for the
// stream's last transfer, while another one waits for its outcome to be recorded.
func (k *walker) decideTransferOn(w *world, r register, i int8, o object, last bool) handoff.TransferDecision {
	m := w.manager
	settled := r.last == 0 || m.objects[r.last].presence != present || m.objects[r.last].outcome != undecided
	target := w.nodes[transfers[i].target]
	gone := r.node != 0 && w.nodes[r.node].lapsed
	key := judgeKey{r, i, o, settled, gone, !target.lapsed, last && gone && !k.mutant.waitsForTheDead}
	if known, found := k.judgments[key]; found {
		return known
	}
	decide := handoff.DecideTransfer
	if k.mutant.decideTransfer != nil {
		decide = k.mutant.decideTransfer
	}
	d := decide(handoff.TransferView{
		View:        admission.View{Transfer: transferObject(i, o), Stream: key.register.stream(), Target: nodeObject(key.target)},
		LastSettled: key.settled, SourceGone: key.gone, Superseded: key.superseded, Now: time.Unix(0, 0),
	})
	k.judgments[key] = d
	return d
}

func transferObject(i int8, o object) *v1alpha1.StreamTransfer {
	t := &v1alpha1.StreamTransfer{ObjectMeta: metav1.ObjectMeta{Name: transfers[i].name, UID: types.UID(transfers[i].name)}}
	t.Spec = v1alpha1.StreamTransferSpec{Stream: "s", Target: nodeNames[transfers[i].target], Force: transfers[i].force, Cancel: o.cancel}
	if o.outcome != undecided {
		action := [...]handoff.TransferAction{0, handoff.TransferSucceed, handoff.TransferFail, handoff.TransferCancel, handoff.TransferFail}[o.outcome]
		t.Status = handoff.TransferStatus(t, nil, handoff.TransferDecision{Action: action}, metav1.MicroTime{})
	}
	return t
}

func nodeObject(ready bool) *v1alpha1.StreamNode {
	isReady := condition.Unknown(v1alpha1.ConditionReady, v1alpha1.ReasonLeaseExpired, "")
	if ready {
		isReady = condition.True(v1alpha1.ConditionReady, v1alpha1.ReasonAsExpected, "")
	}
	node := &v1alpha1.StreamNode{Spec: v1alpha1.StreamNodeSpec{Slots: 2}}
	node.Status.Conditions = condition.Merge(nil, 1, metav1.Time{}, isReady, condition.True(v1alpha1.ConditionSchedulable, v1alpha1.ReasonAsExpected, ""))
	return node
}
