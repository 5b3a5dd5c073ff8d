package streamclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

var (
	// ErrNotFound tells that the stream does not exist, or does not exist any more.
	ErrNotFound = errors.New("stream does not exist")
	// ErrStreamClosed tells that the stream is closed: nothing can be appended.
	ErrStreamClosed = errors.New("stream is closed")
	// ErrConflict tells that the stream is not as the request expects: another configuration, content type or sequence.
	ErrConflict = errors.New("stream is not as the request expects")
	// ErrStaleProducer tells that another producer with the same id has a higher epoch.
	ErrStaleProducer = errors.New("producer epoch is stale")
	// ErrUnauthenticated tells that the server does not know who asks.
	ErrUnauthenticated = errors.New("who asks is not known")
	// ErrForbidden tells that who asks may not do this.
	ErrForbidden = errors.New("who asks may not do this")
	// ErrGone tells that the offset is before the first retained position.
	ErrGone = errors.New("offset is not retained any more")
	// ErrInvalid tells that the server does not accept the request as it is.
	ErrInvalid = errors.New("request is invalid")
	// ErrOutcomeUnknown tells that the request may or may not have been applied.
	ErrOutcomeUnknown = errors.New("the outcome is unknown")
	// ErrUnavailable tells that the request was not applied, although it was repeated for as long as allowed.
	ErrUnavailable = errors.New("stream is unavailable")
)

// Error is an answer of the server that is no success.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Type is the last part of the problem's type URI, such as "stream-not-found"; empty where the server gave none.
	Type string
	// Detail is the server's sentence.
	Detail string
	// Header is the answer's.
	Header http.Header
}

// Error implements error.
func (e *Error) Error() string {
	detail := e.Detail
	if detail == "" {
		detail = http.StatusText(e.Status)
	}
	return fmt.Sprintf("server answered %d: %s", e.Status, detail)
}

// Is tells which kind of error it is.
func (e *Error) Is(target error) bool {
	switch e.Status {
	case http.StatusNotFound:
		return target == ErrNotFound
	case http.StatusConflict:
		if strings.EqualFold(e.Header.Get("Stream-Closed"), "true") {
			return target == ErrStreamClosed || target == ErrConflict
		}
		return target == ErrConflict
	case http.StatusUnauthorized:
		return target == ErrUnauthenticated
	case http.StatusForbidden:
		if e.Header.Get("Producer-Epoch") != "" {
			return target == ErrStaleProducer
		}
		return target == ErrForbidden
	case http.StatusGone:
		return target == ErrGone
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		if e.notApplied() {
			return target == ErrUnavailable
		}
		return target == ErrOutcomeUnknown
	}
	if e.Status >= http.StatusInternalServerError {
		return target == ErrOutcomeUnknown
	}
	return target == ErrInvalid
}

// notApplied tells whether the server promises that the request had no effect and may be repeated: it gives a
// Retry-After then.
func (e *Error) notApplied() bool { return e.Header.Get("Retry-After") != "" }

// maxProblemBytes bounds what is read of an error answer.
const maxProblemBytes = 64 << 10

// errorOf reads an error answer.
func errorOf(response *http.Response) *Error {
	e := &Error{Status: response.StatusCode, Header: response.Header}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxProblemBytes))
	if err != nil {
		return e // the status is what counts
	}
	var problem struct{ Type, Detail string }
	if json.Unmarshal(text, &problem) == nil && problem.Detail != "" {
		e.Type, e.Detail = problem.Type[strings.LastIndex(problem.Type, "/")+1:], problem.Detail
		return e
	}
	e.Detail = strings.TrimSpace(string(text))
	return e
}
