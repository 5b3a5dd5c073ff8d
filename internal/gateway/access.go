package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/routing"
)

// Verb is what somebody does to a stream, as roles name it.
type Verb string

// The verbs of the data path. Creating and deleting a stream are the verbs of its object: who may do it there may do it here.
const (
	VerbRead   Verb = "read"
	VerbAppend Verb = "append"
	VerbCreate Verb = "create"
	VerbDelete Verb = "delete"
)

var (
	// ErrUnauthenticated tells that it is not known who asks.
	ErrUnauthenticated = errors.New("who asks is not known")
	// ErrForbidden tells that it is known who asks, and that they may not.
	ErrForbidden = errors.New("who asks may not do this")
)

// Access decides who may do what to a stream.
type Access interface {
	// Check returns nil where the sender of the Authorization header may do this to the stream, whether it exists or not. The error
	// wraps ErrUnauthenticated or ErrForbidden, and is one sentence for the client; any other one is that nobody could tell.
	Check(ctx context.Context, authorization string, stream routing.Stream, verb Verb) error
}

// Reasons for which a request is denied, as the label "reason" of the metric says them.
const (
	deniedUnauthenticated = "unauthenticated"
	deniedForbidden       = "forbidden"
	deniedUnavailable     = "unavailable"
)

// refusedBodyTimeout bounds for how long the server waits for the rest of a body that nobody wants.
const refusedBodyTimeout = 5 * time.Second

// verbOf returns what a request of a method that streams have does. A POST that closes the stream appends its end.
func verbOf(method string) Verb {
	switch method {
	case http.MethodPost:
		return VerbAppend
	case http.MethodPut:
		return VerbCreate
	case http.MethodDelete:
		return VerbDelete
	}
	return VerbRead
}

// admit answers a request whose sender may not do what it asks for, and returns whether they may. Nothing was read of its body.
func (g *Gateway) admit(w http.ResponseWriter, r *http.Request, stream routing.Stream) bool {
	if g.cfg.Access == nil {
		return true
	}
	err := g.cfg.Access.Check(r.Context(), r.Header.Get("Authorization"), stream, verbOf(r.Method))
	if err == nil {
		return true
	}
	p := &durablestreams.Problem{Type: durablestreams.ProblemUnavailable, Status: http.StatusServiceUnavailable,
		Detail: "Whether you may do this cannot be told now.", Header: http.Header{"Retry-After": {"1"}}}
	reason := deniedUnavailable
	switch {
	case errors.Is(err, ErrUnauthenticated):
		reason = deniedUnauthenticated
		p = &durablestreams.Problem{Type: ProblemUnauthenticated, Status: http.StatusUnauthorized, Detail: sentence(err),
			Header: http.Header{"Www-Authenticate": {`Bearer realm="streamshift"`}}}
	case errors.Is(err, ErrForbidden):
		reason = deniedForbidden
		p = &durablestreams.Problem{Type: ProblemForbidden, Status: http.StatusForbidden, Detail: sentence(err)}
	default:
		g.cfg.Log.V(1).Info("Could not tell whether a request is allowed", "stream", stream.String(), "error", err.Error())
	}
	g.metrics.denied.WithLabelValues(reason).Inc()
	g.refuse(w, p)
	return false
}

// The problems of who asks, beside those of the protocol.
const (
	// ProblemUnauthenticated is a request without a token, or with one that is not taken.
	ProblemUnauthenticated durablestreams.ProblemType = "unauthenticated"
	// ProblemForbidden is a request that its sender's roles do not allow.
	ProblemForbidden durablestreams.ProblemType = "forbidden"
)

// refuse answers a request whose body was not read.
func (g *Gateway) refuse(w http.ResponseWriter, p *durablestreams.Problem) {
	// A writer without deadlines (a test's recorder) is none that a slow peer could hold.
	_ = http.NewResponseController(w).SetReadDeadline(g.cfg.Now().Add(refusedBodyTimeout))
	durablestreams.WriteProblem(w, p)
}

func sentence(err error) string {
	text := err.Error()
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
