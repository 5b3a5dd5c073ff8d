package handoff

import (
	"fmt"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// SessionPhase is the state of a node's own session of a stream.
type SessionPhase int

const (
	// SessionNone: the node holds no session, or lost it.
	SessionNone SessionPhase = iota
	// SessionOpening: the engine is opening the session.
	SessionOpening
	// SessionOpen: the session serves.
	SessionOpen
	// SessionClosing: the session takes no appends and flushes.
	SessionClosing
	// SessionClosed: everything that the session took is in the object store.
	SessionClosed
	// SessionFenced: the log belongs to another session.
	SessionFenced
)

// String implements fmt.Stringer.
func (p SessionPhase) String() string {
	switch p {
	case SessionNone:
		return "none"
	case SessionOpening:
		return "opening"
	case SessionOpen:
		return "open"
	case SessionClosing:
		return "closing"
	case SessionClosed:
		return "closed"
	case SessionFenced:
		return "fenced"
	}
	return fmt.Sprintf("phase %d", int(p))
}

// Session is what a node knows of its own session of a stream.
type Session struct {
	Phase SessionPhase
	// Epoch of the session; 0 in phase None.
	Epoch int64
	// MayOpen is the epoch that this process may open: the stream was placed here at that epoch while the process
	// watched, or the process asked for the epoch by a reopen. 0 where there is none. An epoch that was found assigned
	// at the start of the process is not one of them, since an earlier process of the node may have opened it.
	MayOpen int64
	// LogEpoch is the highest epoch that was found in the log, in phase Fenced; otherwise 0.
	LogEpoch int64
	// CutOff tells that a step was needed for a while and the register could not be reached. The log keeps it safe to
	// serve then, whatever the register says meanwhile.
	CutOff bool
}

// Assigned returns the epoch that a process of node me may open after it saw the register go from known to next while it
// watched; known is nil where it saw nothing of the stream before. What it saw placed on it that moment nobody else has
// opened; everything else leaves mayOpen as it was.
func Assigned(me string, known, next *v1alpha1.StreamStatus, mayOpen int64) int64 {
	assigned := next.Node == me && next.State == v1alpha1.StreamOpening
	seenBefore := known != nil && known.Node == me && known.Epoch == next.Epoch
	if assigned && !seenBefore {
		return next.Epoch
	}
	return mayOpen
}

// Action is what a node does next about a stream. Each has one effect.
type Action int

const (
	// Wait does nothing: a change of the register or of the session wakes the node.
	Wait Action = iota
	// Open opens the session at the register's epoch.
	Open
	// RecordOpened proposes state Open.
	RecordOpened
	// Close stops taking appends, flushes and closes the session.
	Close
	// Complete proposes the completion of the pending transfer.
	Complete
	// Reopen proposes a higher epoch at the same owner.
	Reopen
	// Drop ends the session without writing anything.
	Drop
	// Resume opens the session again that this process closed, at its own epoch: the log fences it where another
	// session was opened since.
	Resume
)

// String implements fmt.Stringer.
func (a Action) String() string {
	switch a {
	case Wait:
		return "Wait"
	case Open:
		return "Open"
	case RecordOpened:
		return "RecordOpened"
	case Close:
		return "Close"
	case Complete:
		return "Complete"
	case Reopen:
		return "Reopen"
	case Drop:
		return "Drop"
	case Resume:
		return "Resume"
	}
	return fmt.Sprintf("Action(%d)", int(a))
}

// Decision is an action, the epoch that it concerns, and the reason in one sentence.
type Decision struct {
	Action Action
	Epoch  int64
	Reason string
}

// Decide returns what the node named me does next about a stream, from the register as it was seen last and the node's
// own session. A view of the register that is stale leads at most to a proposal that the API server refuses, or to an
// opening that the log refuses.
func Decide(me string, register *v1alpha1.StreamStatus, session Session) Decision {
	if register.Node != me {
		return decideElsewhere(register, session)
	}
	if pending := register.PendingTransfer; pending != nil {
		return decideSource(register, pending, session)
	}
	return decideOwner(register, session)
}

// decideElsewhere: the stream is another node's, or nobody's.
func decideElsewhere(register *v1alpha1.StreamStatus, session Session) Decision {
	switch session.Phase {
	case SessionNone:
		return Decision{Wait, register.Epoch, fmt.Sprintf("the stream belongs to node %q at epoch %d", register.Node, register.Epoch)}
	case SessionOpening, SessionOpen, SessionClosing, SessionClosed, SessionFenced:
		// A live session of a stream that left was taken over: its next write collides, and there is nothing to save
		// that is not in the object store.
		return Decision{Drop, session.Epoch, fmt.Sprintf("the stream belongs to node %q since epoch %d", register.Node, register.Epoch)}
	}
	panic("unknown phase " + session.Phase.String())
}

// decideSource: a transfer away from this node is pending.
func decideSource(register *v1alpha1.StreamStatus, pending *v1alpha1.PendingTransfer, session Session) Decision {
	switch session.Phase {
	case SessionOpening:
		if session.CutOff && session.Epoch == register.Epoch {
			return Decision{Wait, session.Epoch, "the session is being resumed"}
		}
		// It has acknowledged nothing, so there is nothing to flush. A write of it that lands late is the log's to
		// refuse.
		return Decision{Drop, session.Epoch, fmt.Sprintf("transfer %s takes the stream to %s before it is open here", pending.Name, pending.Target)}
	case SessionOpen:
		if session.CutOff && session.Epoch == register.Epoch {
			return Decision{Wait, session.Epoch, fmt.Sprintf("the session serves until transfer %s can be completed", pending.Name)}
		}
		return Decision{Close, session.Epoch, fmt.Sprintf("transfer %s takes the stream to %s", pending.Name, pending.Target)}
	case SessionClosing:
		return Decision{Wait, session.Epoch, "the session is flushing"}
	case SessionClosed:
		if session.CutOff && session.Epoch == register.Epoch {
			return resume(session)
		}
		return complete(register, session)
	case SessionNone, SessionFenced:
		return complete(register, session)
	}
	panic("unknown phase " + session.Phase.String())
}

// complete: without a session nothing of this node is unflushed. What was acknowledged is in the object store, and the
// target's opening fences whatever an earlier process still has under way.
func complete(register *v1alpha1.StreamStatus, session Session) Decision {
	return Decision{Complete, register.Epoch, fmt.Sprintf("the session is %s at epoch %d", session.Phase, register.Epoch)}
}

func resume(session Session) Decision {
	return Decision{Resume, session.Epoch, fmt.Sprintf("the register cannot be reached: epoch %d serves on as long as the log lets it", session.Epoch)}
}

// decideOwner: the stream is this node's, and stays.
func decideOwner(register *v1alpha1.StreamStatus, session Session) Decision {
	switch session.Phase {
	case SessionNone:
		if session.MayOpen == register.Epoch && register.State == v1alpha1.StreamOpening {
			return Decision{Open, register.Epoch, fmt.Sprintf("the stream is placed here at epoch %d", register.Epoch)}
		}
		return Decision{Reopen, register.Epoch + 1, fmt.Sprintf("an earlier process may have opened epoch %d", register.Epoch)}
	case SessionOpening:
		if session.Epoch != register.Epoch {
			return Decision{Drop, session.Epoch, fmt.Sprintf("the register has gone on to epoch %d", register.Epoch)}
		}
		return Decision{Wait, session.Epoch, "the session is opening"}
	case SessionOpen:
		return decideOpen(register, session)
	case SessionClosing:
		return Decision{Wait, session.Epoch, "the session is flushing"}
	case SessionClosed:
		if session.Epoch < register.Epoch {
			return Decision{Drop, session.Epoch, fmt.Sprintf("the register has gone on to epoch %d", register.Epoch)}
		}
		if session.CutOff && session.Epoch == register.Epoch {
			return resume(session)
		}
		return Decision{Reopen, session.Epoch + 1, fmt.Sprintf("the session is closed at epoch %d and the stream stays here", session.Epoch)}
	case SessionFenced:
		if session.LogEpoch < register.Epoch {
			return Decision{Drop, session.Epoch, fmt.Sprintf("the register has gone on to epoch %d", register.Epoch)}
		}
		// The register still names this node, so it is behind the log (it was restored from a backup) or an opening
		// of this node was lost. Whether it still does is tested by the proposal.
		return Decision{Reopen, session.LogEpoch + 1, fmt.Sprintf("the log is at epoch %d, the register at %d", session.LogEpoch, register.Epoch)}
	}
	panic("unknown phase " + session.Phase.String())
}

func decideOpen(register *v1alpha1.StreamStatus, session Session) Decision {
	switch {
	case session.Epoch < register.Epoch:
		return Decision{Drop, session.Epoch, fmt.Sprintf("the register has gone on to epoch %d", register.Epoch)}
	case session.Epoch > register.Epoch:
		return Decision{Reopen, session.Epoch + 1, fmt.Sprintf("the session is at epoch %d, the register was set back to %d", session.Epoch, register.Epoch)}
	case register.State == v1alpha1.StreamOpening:
		return Decision{RecordOpened, session.Epoch, "the session is open and the register does not say so"}
	case register.State == v1alpha1.StreamClosed:
		return Decision{Reopen, session.Epoch + 1, "the register says closed: the next epoch is opened"}
	}
	return Decision{Wait, session.Epoch, "the session serves"}
}
