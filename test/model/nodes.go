package model

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/handoff"
)

// nodeSteps yields what node i can do: see, notice that it is fenced, and what it decides, as controllers/session does.
func (k *walker) nodeSteps(w *world, i int8) {
	n := w.nodes[i]
	if !n.up {
		return
	}
	if !n.listed || n.view != w.register {
		next := *w
		next.nodes[i].takeIn(i, w.register, n.listed)
		k.yield(system, say("%s sees: %s", nodeNames[i], w.register), next)
	}
	if n.session.phase == handoff.SessionOpen && !w.acknowledges(i) {
		next := *w
		next.nodes[i].session = session{phase: handoff.SessionFenced, epoch: n.session.epoch, logEpoch: w.log.epoch}
		k.yield(system, say("%s finds itself fenced by epoch %d", nodeNames[i], w.log.epoch), next)
	}
	if n.session.phase == handoff.SessionClosing {
		k.finishClose(w, i)
	}
	if n.listed {
		k.act(w, i)
	}
}

// takeIn is what a node does with a register that it sees.
func (n *nodeState) takeIn(me int8, r register, live bool) {
	if live {
		var known *v1alpha1.StreamStatus
		if n.view.node != 0 {
			known = &n.view.stream().Status
		}
		n.session.mayOpen = int8(handoff.Assigned(nodeNames[me], known, &r.stream().Status, int64(n.session.mayOpen))) //nolint:gosec // small
	}
	n.view, n.listed = r, true
}

// lose forgets that the log's end is of node i's present process.
func (w *world) lose(i int8) {
	if w.log.holder == i {
		w.log.holder = 0
	}
	if w.late.holder == i {
		w.late.holder = 0
	}
}

func (k *walker) finishClose(w *world, i int8) {
	next := *w
	s := &next.nodes[i].session
	if w.log == (logEnd{s.epoch, i}) {
		s.phase = handoff.SessionClosed
		k.yield(system, say("%s has closed at epoch %d", nodeNames[i], s.epoch), next)
		return
	}
	*s = session{phase: handoff.SessionFenced, epoch: s.epoch, logEpoch: w.log.epoch}
	k.yield(system, say("%s finds itself fenced while closing", nodeNames[i]), next)
}

func (k *walker) act(w *world, i int8) {
	n := w.nodes[i]
	d := k.decide(i, n)
	next := *w
	name, takeIn := nodeNames[i], func(r register) { next.nodes[i].takeIn(i, r, true) }
	switch d.Action {
	case handoff.Wait:
	case handoff.Open:
		k.open(w, i)
	case handoff.Close:
		next.nodes[i].session.phase = handoff.SessionClosing
		k.yield(system, say("%s closes at epoch %d", name, n.session.epoch), next)
	case handoff.Drop:
		dropped := session{}
		if n.session.mayOpen > n.session.epoch {
			dropped.mayOpen = n.session.mayOpen
		}
		next.nodes[i].session = dropped
		next.lose(i)
		k.yield(system, say("%s drops its session", name), next)
	case handoff.RecordOpened:
		k.propose(&next, n.view, "Opened", 0, 0, say("%s records that it is open", name), takeIn)
	case handoff.Complete:
		k.propose(&next, n.view, "Complete", 0, 0, say("%s completes at epoch %d", name, n.view.epoch), takeIn)
	case handoff.Reopen:
		k.propose(&next, n.view, "Reopen", 0, int8(d.Epoch), say("%s reopens at epoch %d", name, d.Epoch), takeIn) //nolint:gosec // small
	case handoff.Resume:
		panic("a node resumes that is not cut off")
	}
	if w.cutoffs > 0 && n.session.phase == handoff.SessionClosed {
		k.cutOff(w, i)
	}
}

// cutOff has a node that closed find the register out of reach: it goes on with its session, as far as the log lets it.
// What it proposed before may still arrive. It closes again as soon as the register can be reached, which is any time.
func (k *walker) cutOff(w *world, i int8) {
	n := w.nodes[i]
	cut := n.session.handoff()
	cut.CutOff = true
	if handoff.Decide(nodeNames[i], &n.view.stream().Status, cut).Action != handoff.Resume {
		return
	}
	next := *w
	next.cutoffs--
	if n.view.pending != 0 {
		next.nodes[i].unanswered = n.view
	}
	s := &next.nodes[i].session
	if w.log == (logEnd{s.epoch, i}) {
		s.phase = handoff.SessionOpen
		k.yield(outside, say("%s is cut off and goes on at epoch %d", nodeNames[i], s.epoch), next)
		return
	}
	*s = session{phase: handoff.SessionFenced, epoch: s.epoch, logEpoch: w.log.epoch}
	k.yield(outside, say("%s is cut off, would go on, and finds itself fenced", nodeNames[i]), next)
}

func (k *walker) decide(i int8, n nodeState) handoff.Decision {
	key := decideKey{i, n.view, n.session}
	if known, found := k.decisions[key]; found {
		return known
	}
	decide := handoff.Decide
	if k.mutant.decide != nil {
		decide = k.mutant.decide
	}
	d := decide(nodeNames[i], &n.view.stream().Status, n.session.handoff())
	k.decisions[key] = d
	return d
}

// open opens a session in the log: it succeeds where its epoch is above the log's, or where an attempt of the same
// opening succeeded before and its answer was lost.
func (k *walker) open(w *world, i int8) {
	n, epoch := w.nodes[i], w.nodes[i].view.epoch
	next := *w
	s, mine := &next.nodes[i].session, logEnd{epoch, i}
	if epoch <= w.log.epoch && w.log != mine && !k.mutant.unfenced {
		*s = session{phase: handoff.SessionFenced, epoch: epoch, logEpoch: w.log.epoch}
		k.yield(system, say("%s finds epoch %d taken", nodeNames[i], epoch), next)
		return
	}
	if w.lates > 0 && w.late.epoch == 0 {
		late := next
		late.lates--
		late.late = mine
		k.yield(outside, say("%s opens epoch %d and gets an error; the write is on its way", nodeNames[i], epoch), late)
	}
	next.log = mine
	lost := next
	s.phase, s.epoch, s.mayOpen = handoff.SessionOpen, epoch, 0
	k.yield(system, say("%s opens epoch %d", nodeNames[i], epoch), next)
	if w.losses > 0 {
		lost.losses--
		lost.nodes[i].session.mayOpen = n.session.mayOpen
		k.yield(outside, say("%s opens epoch %d and gets no answer", nodeNames[i], epoch), lost)
	}
}

// propose proposes a step that was computed on the register that was seen, and yields the world after it: taken and
// answered, taken and the answer lost, or refused. Next is the world with everything but the register changed.
func (k *walker) propose(next *world, seen register, name string, transfer, epoch int8, what func() string, takeIn func(register)) {
	r, taken := k.arbiter.propose(proposal{next.register, seen, name, epoch, transfer}, step(seen, name, transfer, epoch))
	if !taken {
		if name == "Accept" { // the manager is done with this one
			k.yield(system, func() string { return what() + ": refused" }, *next)
		}
		return
	}
	next.register = r
	if name == "Complete" || name == "TakeOver" {
		next.completed[r.last]++
	}
	if next.losses > 0 {
		lost := *next
		lost.losses--
		k.yield(outside, func() string { return what() + ", and gets no answer" }, lost)
	}
	takeIn(r)
	k.yield(system, what, *next)
}

func step(seen register, name string, transfer, epoch int8) handoff.Step {
	stream, now := seen.stream(), metav1.MicroTime{}
	switch name {
	case "Accept":
		t := transfers[transfer]
		return handoff.Accept(stream, &v1alpha1.StreamTransfer{
			ObjectMeta: metav1.ObjectMeta{Name: t.name, UID: types.UID(t.name)},
			Spec:       v1alpha1.StreamTransferSpec{Target: nodeNames[t.target], Force: t.force},
		}, now)
	case "Withdraw":
		return handoff.Withdraw(stream, now)
	case "TakeOver":
		return handoff.TakeOver(stream, now)
	case "Opened":
		return handoff.Opened(stream, now, nil)
	case "Complete":
		return handoff.CompleteTransfer(stream, handoff.Closing{}, now)
	case "Reopen":
		return handoff.ReopenAt(stream, int64(epoch), now)
	}
	panic("no step " + name)
}
