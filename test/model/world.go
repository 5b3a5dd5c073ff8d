package model

import (
	"github.com/streamshift/streamshift/internal/handoff"
)

const (
	nodeCount     = 3
	transferCount = 2
)

// world is a state of everything. It is compared and counted as a whole.
type world struct {
	register register
	log      logEnd
	nodes    [nodeCount + 1]nodeState
	manager  managerState
	objects  [transferCount + 1]object
	// completed counts how often each transfer was completed.
	completed [transferCount + 1]int8
	// What users and fate may still do.
	crashes, cancels, deletes, lapses, losses, cutoffs, lates int8
	// onlyTarget has only the first transfer's target crash, for ever; the second transfer is made by the manager, once
	// that node is gone and owns the stream.
	onlyTarget bool
	// late is an opening whose write is on its way to the object store, and may land at any time; its epoch is 0 where
	// there is none.
	late logEnd
}

// logEnd is what the object store knows: the highest epoch opened, and the node whose present session, or whose present
// attempt at one, opened it; 0 where that session is lost.
type logEnd struct {
	epoch, holder int8
}

// nodeState is one node: its process, its view of the register, its session.
type nodeState struct {
	up, listed bool
	view       register
	session    session
	// lapsed tells that its lease has run out; whether it runs is another matter.
	lapsed bool
	// unanswered is the register that a completion was proposed on which may still arrive; the zero value: none.
	unanswered register
}

// session is handoff.Session, small.
type session struct {
	phase                    handoff.SessionPhase
	epoch, mayOpen, logEpoch int8
}

func (s session) handoff() handoff.Session {
	return handoff.Session{Phase: s.phase, Epoch: int64(s.epoch), MayOpen: int64(s.mayOpen), LogEpoch: int64(s.logEpoch)}
}

// managerState is the manager: its view of the register and of the transfers, and a transfer that it is about to accept.
type managerState struct {
	view    register
	objects [transferCount + 1]object
	// accepting is the transfer that was read afresh and found acceptable on acceptOn; 0 for none.
	accepting int8
	acceptOn  register
}

// object is a StreamTransfer.
type object struct {
	presence presence
	cancel   bool
	outcome  outcome
}

type presence int8

const (
	absent presence = iota
	present
	deleted
)

type outcome int8

const (
	undecided outcome = iota
	succeeded
	failed
	cancelled
	// passedOn: it was completed, and the stream was not opened before another transfer took it on.
	passedOn
)

// bounds say which transfers there are, and what users and fate may do in a walk.
type bounds struct {
	transfers                                                 [transferCount + 1]transfer
	crashes, cancels, deletes, lapses, losses, cutoffs, lates int8
	onlyTarget                                                bool
}

// start is a stream that was just placed on A, with nobody having seen it.
func start(b bounds) world {
	w := world{
		register: register{node: 1, epoch: 1, state: 1},
		crashes:  b.crashes, cancels: b.cancels, deletes: b.deletes, lapses: b.lapses, losses: b.losses,
		cutoffs: b.cutoffs, lates: b.lates, onlyTarget: b.onlyTarget,
	}
	w.manager.view = w.register
	for i := 1; i <= nodeCount; i++ {
		w.nodes[i] = nodeState{up: true, listed: true, view: register{}}
	}
	return w
}

// atRest tells that the stream is served and nobody waits for anything.
func (w *world) atRest() bool {
	r := w.register
	if r.pending != 0 || r.state != 2 {
		return false
	}
	for i := 1; i <= transferCount; i++ {
		if w.objects[i].presence == present && w.objects[i].outcome == undecided {
			return false
		}
	}
	return w.acknowledges(r.node) && w.nodes[r.node].session.epoch == r.epoch
}

// acknowledges tells whether a node has a session that the log does not fence.
func (w *world) acknowledges(node int8) bool {
	n := w.nodes[node]
	return n.up && n.session.phase == handoff.SessionOpen && w.log == logEnd{n.session.epoch, node}
}
