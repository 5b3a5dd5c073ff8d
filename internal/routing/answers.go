package routing

import (
	"errors"
	"net/http"
	"os"
	"strconv"

	"github.com/streamshift/streamshift/internal/durablestreams"
)

// The problem types of routing's own answers. Each promises that the request was not applied and never will be.
const (
	// ProblemStreamMoved is a 409 while a transfer is pending: the headers name the target.
	ProblemStreamMoved durablestreams.ProblemType = "stream-moved"
	// ProblemStreamElsewhere is a 307: the headers name the owner.
	ProblemStreamElsewhere durablestreams.ProblemType = "stream-elsewhere"
	// ProblemRoutingLoop is a 421 for a request that was sent on too often; the headers name the owner or target.
	ProblemRoutingLoop durablestreams.ProblemType = "routing-loop"
	// ProblemStreamUnavailable is a 503: no node could serve the stream within the park time.
	ProblemStreamUnavailable durablestreams.ProblemType = "stream-unavailable"
	// ProblemParkingFull is a 429 (for the stream) or 503 (in all): too many requests wait.
	ProblemParkingFull durablestreams.ProblemType = "parking-full"
)

// retryAfterSeconds is told to clients with every 429 and 503.
const retryAfterSeconds = "1"

// location tells where a request belongs, as far as it is known.
type location struct {
	node, address string
	role          Role
	epoch         int64
	uid           string
	// transfer is the UID of the transfer that took or takes the stream there; empty: none did.
	transfer string
}

func (l location) setHeaders(h http.Header) {
	set := func(name, value string) {
		if value != "" {
			h.Set(name, value)
		}
	}
	set(HeaderNode, l.node)
	set(HeaderAddress, l.address)
	set(HeaderUID, l.uid)
	set(HeaderTransfer, l.transfer)
	if l.node != "" {
		set(HeaderRole, string(l.role))
	}
	if l.epoch > 0 {
		set(HeaderEpoch, strconv.FormatInt(l.epoch, 10))
	}
}

// ParseMoved reads from a node's answer where the stream is; false where it does not say so.
func ParseMoved(h http.Header) (Moved, bool) {
	epoch, err := strconv.ParseInt(h.Get(HeaderEpoch), 10, 64)
	m := Moved{
		UID:      h.Get(HeaderUID),
		Epoch:    epoch,
		Node:     h.Get(HeaderNode),
		Role:     Role(h.Get(HeaderRole)),
		Address:  h.Get(HeaderAddress),
		Transfer: h.Get(HeaderTransfer),
	}
	known := m.Role == RoleOwner || m.Role == RoleTarget
	return m, err == nil && m.Node != "" && known
}

// routingProblem builds one of routing's own answers.
func routingProblem(answer Answer, status int, kind durablestreams.ProblemType, detail string, at location) *durablestreams.Problem {
	h := http.Header{}
	h.Set(HeaderAnswer, string(answer))
	at.setHeaders(h)
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		h.Set("Retry-After", retryAfterSeconds)
	}
	return &durablestreams.Problem{Type: kind, Status: status, Detail: detail, Header: h}
}

// UnavailableProblem is the answer when the park time is over.
func UnavailableProblem(reason string) *durablestreams.Problem {
	return routingProblem(AnswerUnavailable, http.StatusServiceUnavailable, ProblemStreamUnavailable,
		"The request was not applied, please repeat it: "+reason+".", location{})
}

// unawareProblem is the answer of a node that was asked as the target of a transfer that it has not heard of.
func unawareProblem() *durablestreams.Problem {
	return routingProblem(AnswerUnaware, http.StatusServiceUnavailable, ProblemStreamUnavailable,
		"The request was not applied, please repeat it: this node has not heard of a transfer to it, and cannot ask the API server.", location{})
}

// FullProblem is the answer to a request that finds no place to wait; err is of Parking.Enter.
func FullProblem(err error) *durablestreams.Problem {
	status := http.StatusServiceUnavailable
	if errors.Is(err, ErrStreamParkingFull) {
		status = http.StatusTooManyRequests
	}
	return routingProblem(AnswerFull, status, ProblemParkingFull,
		"The request was not applied, please repeat it: "+err.Error()+".", location{})
}

// BodyProblem is the answer to a request whose body could not be read; err is of Bodies.Read.
func BodyProblem(err error) *durablestreams.Problem {
	switch {
	case errors.Is(err, durablestreams.ErrBodyTooLarge):
		return &durablestreams.Problem{Type: durablestreams.ProblemLimit, Status: http.StatusRequestEntityTooLarge,
			Detail: "The request was not applied: " + err.Error() + "."}
	case errors.Is(err, durablestreams.ErrBodiesFull):
		return routingProblem(AnswerFull, http.StatusServiceUnavailable, durablestreams.ProblemOverloaded,
			"The request was not applied, please repeat it: "+err.Error()+".", location{})
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &durablestreams.Problem{Type: durablestreams.ProblemLimit, Status: http.StatusRequestTimeout,
			Detail: "The body came too slowly; nothing was applied."}
	}
	return &durablestreams.Problem{Type: durablestreams.ProblemInvalidRequest, Status: http.StatusBadRequest,
		Detail: "The body was cut off; nothing was applied."}
}

// PathProblem is the answer to a path that ParsePath refuses.
func PathProblem(err error) *durablestreams.Problem {
	p := &durablestreams.Problem{Type: durablestreams.ProblemInvalidRequest, Status: http.StatusBadRequest, Detail: sentence(err)}
	switch {
	case errors.Is(err, ErrNoStreamPath):
		p.Type, p.Status = durablestreams.ProblemStreamNotFound, http.StatusNotFound
	case errors.Is(err, ErrReservedPath):
		p.Status = http.StatusNotImplemented
	}
	return p
}

// sentence makes an error's text one.
func sentence(err error) string {
	text := err.Error()
	if text[0] >= 'a' && text[0] <= 'z' {
		text = string(text[0]-'a'+'A') + text[1:]
	}
	return text + "."
}
