package durablestreams

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
)

// ProblemType names a kind of error. On the wire it is the URI [ProblemBase] followed by the name (RFC 9457).
type ProblemType string

// ProblemBase is what the type URI of every problem starts with.
const ProblemBase = "https://streamshift.io/problems/"

// The problem types of this package. Each says whether the request had an effect: none of them had, but for
// [ProblemOutcomeUnknown].
const (
	// ProblemInvalidRequest is a header, parameter or body that the protocol does not allow.
	ProblemInvalidRequest ProblemType = "invalid-request"
	// ProblemLimit is a request beyond a limit; the detail names the limit.
	ProblemLimit ProblemType = "limit-exceeded"
	// ProblemStreamNotFound is a stream that does not exist, does not exist any more, or has expired.
	ProblemStreamNotFound ProblemType = "stream-not-found"
	// ProblemOffsetGone is an offset before the first retained position.
	ProblemOffsetGone ProblemType = "offset-gone"
	// ProblemOffsetBeyondTail is an offset that this stream never handed out.
	ProblemOffsetBeyondTail ProblemType = "offset-beyond-tail"
	// ProblemConfigurationMismatch is a PUT for a stream that exists with another configuration.
	ProblemConfigurationMismatch ProblemType = "configuration-mismatch"
	// ProblemStreamClosed is an append to a stream that is closed for ever.
	ProblemStreamClosed ProblemType = "stream-closed"
	// ProblemContentType is an append whose content type is not the stream's.
	ProblemContentType ProblemType = "content-type-mismatch"
	// ProblemProducerStale is a producer epoch below the current one.
	ProblemProducerStale ProblemType = "producer-epoch-stale"
	// ProblemProducerGap is a producer sequence that skips at least one.
	ProblemProducerGap ProblemType = "producer-sequence-gap"
	// ProblemProducerStart is a new producer epoch that does not start at sequence 0.
	ProblemProducerStart ProblemType = "producer-epoch-start"
	// ProblemSeqNotRising is a Stream-Seq that is not above the last accepted one.
	ProblemSeqNotRising ProblemType = "stream-seq-not-rising"
	// ProblemMethod is a method that streams do not have.
	ProblemMethod ProblemType = "method-not-allowed"
	// ProblemForks is a request to fork a stream, which is not supported.
	ProblemForks ProblemType = "forks-not-supported"
	// ProblemOverloaded is a limit on what waits or is buffered; the request may be repeated.
	ProblemOverloaded ProblemType = "overloaded"
	// ProblemUnavailable is an object store that did not answer a read; the request may be repeated.
	ProblemUnavailable ProblemType = "unavailable"
	// ProblemOutcomeUnknown is an append that may or may not be applied, now or later. Only a request with producer
	// headers can be repeated without the risk of storing it twice.
	ProblemOutcomeUnknown ProblemType = "outcome-unknown"
)

// Problem is an error answer.
type Problem struct { //nolint:errname // the name that RFC 9457 gives it
	Type   ProblemType
	Status int
	// Detail is one sentence for a person.
	Detail string
	// Header holds further headers of the answer; may be nil.
	Header http.Header
}

// Error implements error.
func (p *Problem) Error() string {
	return fmt.Sprintf("%d %s: %s", p.Status, p.Type, p.Detail)
}

// with adds a header to the answer.
func (p *Problem) with(name, value string) *Problem {
	if p.Header == nil {
		p.Header = http.Header{}
	}
	p.Header.Set(name, value)
	return p
}

// retryAfter adds the number of seconds after which the request may be repeated. It promises that the request was not
// applied.
func (p *Problem) retryAfter(seconds int) *Problem {
	return p.with("Retry-After", strconv.Itoa(seconds))
}

// WriteProblem answers with a problem as application/problem+json. It is the one place where an error answer is
// written: it is never cached, and carries the headers that every answer carries.
func WriteProblem(w http.ResponseWriter, p *Problem) {
	// The detail comes before the rest, so that a client that shows the start of the body shows the sentence.
	body, err := json.Marshal(struct {
		Detail string `json:"detail"`
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
	}{p.Detail, ProblemBase + string(p.Type), http.StatusText(p.Status), p.Status})
	if err != nil { // cannot happen: strings and a number
		panic(err)
	}
	h := w.Header()
	SetBaseHeaders(h)
	maps.Copy(h, p.Header)
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(body)+1))
	h.Set("Cache-Control", cacheNever)
	h.Del("ETag")
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // the client is gone: nothing to do
}

// NotFound is the answer for a stream that does not exist.
func NotFound() *Problem {
	return &Problem{Type: ProblemStreamNotFound, Status: http.StatusNotFound, Detail: "The stream does not exist."}
}

// MethodNotAllowed is the answer to a method that streams do not have.
func MethodNotAllowed(method string) *Problem {
	p := &Problem{Type: ProblemMethod, Status: http.StatusMethodNotAllowed,
		Detail: fmt.Sprintf("Streams have no method %.20q.", method)}
	return p.with("Allow", allowedMethods)
}

// overloaded refuses a request that was not applied and may be repeated.
func overloaded(detail string) *Problem {
	p := &Problem{Type: ProblemOverloaded, Status: http.StatusServiceUnavailable, Detail: detail}
	return p.retryAfter(1)
}

func invalid(format string, args ...any) *Problem {
	return &Problem{Type: ProblemInvalidRequest, Status: http.StatusBadRequest, Detail: fmt.Sprintf(format, args...)}
}

func beyondLimit(status int, format string, args ...any) *Problem {
	return &Problem{Type: ProblemLimit, Status: status, Detail: fmt.Sprintf(format, args...)}
}
