package engine

import (
	"context"
	"errors"

	"github.com/streamshift/streamshift/internal/engine/store"
)

// machine is a piece of the log's rules without clock, locks or network. It says which store call it wants next and is
// told the outcome, so a test can walk every interleaving of several machines over one store.
type machine interface {
	// next returns the call that the machine waits for, or false once it is done.
	next() (call, bool)
	// take is told the outcome of the call that next returned. An error ends the machine; an outcome that leaves
	// open what happened does not, and next returns the same call again.
	take(outcome) error
}

// callKind says which method of the store a machine wants.
type callKind byte

const (
	callGet callKind = iota + 1
	// callPeek gets the first segmentPeek bytes.
	callPeek
	// callRange gets length bytes from at on.
	callRange
	callCreate
	callDelete
)

type call struct {
	kind callKind
	key  string
	data []byte // of callCreate
	// at and length are of callRange, in bytes.
	at, length int64
}

// answer says what the store made of a call.
type answer byte

const (
	// answerDone: the call succeeded.
	answerDone answer = iota + 1
	// answerAbsent: there is no such object (get, peek).
	answerAbsent
	// answerTaken: the key is taken (create).
	answerTaken
	// answerUnknown: it failed, and what happened is not known.
	answerUnknown
)

type outcome struct {
	answer answer
	data   []byte // of get and peek
}

// perform makes one call. The error is set with answerUnknown only.
func perform(ctx context.Context, s store.Store, limits *Limits, c call) (outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, limits.StoreTimeout)
	defer cancel()
	var o outcome
	var err error
	passBefore(&c)
	defer passAfter(&c)
	switch c.kind {
	case callGet:
		o.data, err = s.Get(ctx, c.key)
	case callPeek:
		o.data, err = s.GetRange(ctx, c.key, 0, segmentPeek)
	case callRange:
		o.data, err = s.GetRange(ctx, c.key, c.at, c.length)
	case callCreate:
		err = s.Create(ctx, c.key, c.data)
	case callDelete:
		err = s.Delete(ctx, c.key)
	}
	switch {
	case err == nil:
		o.answer = answerDone
	case c.kind == callCreate && errors.Is(err, store.ErrExists):
		o.answer = answerTaken
	case c.kind != callCreate && errors.Is(err, store.ErrNotFound):
		o.answer = answerAbsent
	default:
		o.answer = answerUnknown
		return o, err
	}
	return o, nil
}

// run drives a machine to its end and gives up at the first call whose outcome is unknown.
func run(ctx context.Context, s store.Store, limits *Limits, m machine) error {
	for {
		c, more := m.next()
		if !more {
			return nil
		}
		o, err := perform(ctx, s, limits, c)
		if err != nil {
			return err
		}
		if err := m.take(o); err != nil {
			return err
		}
	}
}

// String names the kind for logs and metrics.
func (k callKind) String() string {
	switch k {
	case callGet, callPeek, callRange:
		return "get"
	case callCreate:
		return "create"
	case callDelete:
		return "delete"
	}
	return "unknown"
}
