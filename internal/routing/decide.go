package routing

import "fmt"

// Act is what a node does with a request.
type Act int

const (
	// Serve hands the request to the open session.
	Serve Act = iota + 1
	// Park lets the request wait here until the view of the stream changes.
	Park
	// Redirect sends the request to the owner (307).
	Redirect
	// Conflict answers that the stream is moving and names the target (409); it promises that nothing was applied.
	Conflict
)

// String returns the act in lower case.
func (a Act) String() string {
	switch a {
	case Serve:
		return "serve"
	case Park:
		return "park"
	case Redirect:
		return "redirect"
	case Conflict:
		return "conflict"
	}
	return fmt.Sprintf("act %d", int(a))
}

// Disposition is a decision about a request, with its reason.
type Disposition struct {
	Act Act
	// Node is where the request belongs: the owner of a Redirect, the target of a Conflict; else empty.
	Node string
	// Reason is one sentence for logs and for the client.
	Reason string
}

// Decide tells what node me does with a request for a stream, from its view of the stream alone.
//
//	where it arrives          | no transfer pending | transfer pending
//	the owner (the source)    | served, or parked until its session is open | 409, names the target
//	the target                | (it is the owner once complete)             | parked
//	any other node            | 307 to the owner    | 409, names the target
//
// Where a transfer cannot be committed since the register is out of the source's reach, the source serves again, and the
// target sends requests back to it after a while instead of parking them.
//
// A stream that is not placed yet is waited for by whoever was asked.
func Decide(me string, s Situation) Disposition {
	if target := s.target(); target != "" {
		if s.CutOff && s.Owner == me && s.Log != nil {
			return Disposition{Act: Serve, Reason: "this node owns the stream and cannot hand it over now"}
		}
		if s.Overdue && target == me {
			return Disposition{Act: Redirect, Node: s.Owner, Reason: "the transfer to this node takes long: node " + s.Owner + " may serve the stream again"}
		}
		if target == me {
			return Disposition{Act: Park, Reason: "the stream is being transferred to this node"}
		}
		return Disposition{Act: Conflict, Node: target, Reason: "the stream is being transferred to node " + target}
	}
	switch {
	case s.Owner == "":
		return Disposition{Act: Park, Reason: "the stream is not placed on a node yet"}
	case s.Owner != me:
		return Disposition{Act: Redirect, Node: s.Owner, Reason: "the stream is on node " + s.Owner}
	case s.Log == nil:
		return Disposition{Act: Park, Reason: "this node owns the stream and has not opened it yet"}
	}
	return Disposition{Act: Serve, Reason: "this node owns the stream"}
}

// target returns the node that a pending transfer leads to, or "" where there is none. A record that leads to the owner
// itself, or belongs to a stream without an owner, moves nothing.
func (s Situation) target() string {
	if s.Pending == nil || s.Owner == "" || s.Pending.Target == s.Owner {
		return ""
	}
	return s.Pending.Target
}
