package routing

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Headers between a gateway and a node. Clients of a gateway never see them and cannot set them.
const (
	// HeaderPrefix starts each of them.
	HeaderPrefix = "Streamshift-"
	// HeaderAnswer is set on every answer that routing gave instead of the protocol. Its value is an Answer. Each of
	// them promises that the request was not applied and never will be.
	HeaderAnswer = "Streamshift-Answer"
	// HeaderNode, HeaderAddress, HeaderEpoch and HeaderUID tell where the request belongs: the node, its base URL, and
	// the epoch and UID of the register that says so. HeaderRole tells what the node is to the stream.
	HeaderNode    = "Streamshift-Node"
	HeaderAddress = "Streamshift-Address"
	HeaderEpoch   = "Streamshift-Epoch"
	HeaderUID     = "Streamshift-Uid"
	HeaderRole    = "Streamshift-Role"
	// HeaderTransfer is the UID of the transfer that took or takes the stream there, for traces.
	HeaderTransfer = "Streamshift-Transfer"
	// HeaderRouteEpoch and HeaderRouteRole come with a request: what the sender saw in the register about the node that
	// it asks.
	HeaderRouteEpoch = "Streamshift-Route-Epoch"
	HeaderRouteRole  = "Streamshift-Route-Role"
	// HeaderHops counts how often the request was sent on by a node.
	HeaderHops = "Streamshift-Hops"
	// HeaderHeld is for how long a gateway has had a long-poll held so far, such as 730ms: what is left of its time is waited for only.
	HeaderHeld = "Streamshift-Held"
)

// MaxHops is how often a request may be sent on. Beyond it a node answers with what it knows and does not send the
// request anywhere.
const MaxHops = 2

// Answer tells the kinds of routing's own answers apart.
type Answer string

const (
	// AnswerMoved is a 409: a transfer is pending, ask the target.
	AnswerMoved Answer = "moved"
	// AnswerElsewhere is a 307: another node owns the stream.
	AnswerElsewhere Answer = "elsewhere"
	// AnswerLoop is a 421: the request was sent on too often.
	AnswerLoop Answer = "loop"
	// AnswerUnavailable is a 503: nobody could serve the stream within the park time.
	AnswerUnavailable Answer = "unavailable"
	// AnswerUnaware is a 503: the node was asked as the target of a transfer that it has not heard of, and cannot ask the
	// register. Ask the owner.
	AnswerUnaware Answer = "unaware"
	// AnswerFull is a 429 or 503: too many requests wait already.
	AnswerFull Answer = "full"
)

// Role is what a node is to a stream.
type Role string

const (
	// RoleOwner is the node that the register names.
	RoleOwner Role = "owner"
	// RoleTarget is the node that a pending transfer leads to.
	RoleTarget Role = "target"
)

// Hint is what the sender of a request saw in the register about the node that it asks. The zero value is no hint.
type Hint struct {
	Epoch int64
	Role  Role
}

// ParseHint reads the hint of a request; what is malformed is no hint.
func ParseHint(h http.Header) Hint {
	epoch, err := strconv.ParseInt(h.Get(HeaderRouteEpoch), 10, 64)
	if err != nil || epoch <= 0 {
		return Hint{}
	}
	switch role := Role(h.Get(HeaderRouteRole)); role {
	case RoleOwner, RoleTarget:
		return Hint{Epoch: epoch, Role: role}
	}
	return Hint{}
}

// aheadOf tells whether the sender has seen a later state of the register than the one in s, or one at the same epoch
// that differs from it. A node that is asked so looks at the register afresh before it sends the request away.
func (h Hint) aheadOf(me string, s Situation) bool {
	switch {
	case h.Epoch != s.Epoch:
		return h.Epoch > s.Epoch
	case h.Role == RoleTarget:
		return s.Owner != me && s.target() != me
	}
	return false
}

// ParseHops reads how often a request was sent on; what is malformed counts as never.
func ParseHops(h http.Header) int {
	hops, err := strconv.Atoi(h.Get(HeaderHops))
	if err != nil || hops < 0 {
		return 0
	}
	return hops
}

// ParseHeld reads for how long a request was held before; what is malformed counts as not at all.
func ParseHeld(h http.Header) time.Duration {
	held, err := time.ParseDuration(h.Get(HeaderHeld))
	if err != nil || held < 0 {
		return 0
	}
	return held
}

// StripHeaders removes every header that is only meant between gateways and nodes.
func StripHeaders(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, HeaderPrefix) {
			delete(h, name)
		}
	}
}
