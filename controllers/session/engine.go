package session

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/engine/store"
)

// StoreEngine is the storage engine over one object store.
type StoreEngine struct {
	Store store.Store
	// Config has what all sessions share; what names one of them is set by Open.
	Config engine.Config
	// Witnesses returns segments that are in the store if it is the right one; nil: none are known.
	Witnesses func(context.Context) ([]Witness, error)

	// probed: the store has shown that it can fence. recognized: it is the right one.
	probed, recognized atomic.Bool
}

var _ Engine = &StoreEngine{}

// errNotProbed keeps streams closed until the store has shown that it can fence.
var errNotProbed = errors.New("the object store has not been found safe yet")

// errNotRecognized makes an agent not ready; streams that it owns may be opened, since each one's own log is looked at then.
var errNotRecognized = errors.New("the object store has not been found to be the one that the streams are in yet")

// aliveKey is a key that no object has.
const aliveKey = "probe/alive"

// Check puts the store to the tests that it must pass once, and afterwards asks it for a sign of life.
func (e *StoreEngine) Check(ctx context.Context) error {
	if e.recognized.Load() {
		if _, err := e.Store.Get(ctx, aliveKey); err != nil && !errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("asking the object store: %w", err)
		}
		return nil
	}
	if !e.probed.Load() {
		if err := store.Probe(ctx, e.Store); err != nil {
			return err //nolint:wrapcheck // says what it was doing
		}
		e.probed.Store(true)
	}
	if err := e.recognize(ctx); err != nil {
		return err
	}
	e.recognized.Store(true)
	return nil
}

// Ready is a readiness check: the store has passed the test once, and is the right one. A store that goes away later makes no agent less
// ready: the node says so itself, and the others are not better off. An agent whose store or credentials are wrong from the beginning stops
// a rolling update.
func (e *StoreEngine) Ready(*http.Request) error {
	switch {
	case !e.probed.Load():
		return errNotProbed
	case !e.recognized.Load():
		return errNotRecognized
	}
	return nil
}

// Open implements Engine.
func (e *StoreEngine) Open(ctx context.Context, opening Opening) (Log, error) {
	if !e.probed.Load() {
		return nil, errNotProbed
	}
	config := e.Config
	config.Stream, config.Session = opening.Stream, opening.Session
	config.Epoch, config.Tail = engine.Epoch(opening.Epoch), engine.SegmentNumber(opening.Tail)
	config.Known = engine.SegmentNumber(opening.Known)
	config.Created, config.Resumes = opening.Created, opening.Resumes
	session, err := engine.Open(ctx, e.Store, config)
	if err != nil {
		return nil, fmt.Errorf("opening stream %s at epoch %d: %w", opening.Stream, opening.Epoch, err)
	}
	return session, nil
}

// Remove implements Engine.
func (e *StoreEngine) Remove(ctx context.Context, stream string) error {
	if err := engine.Remove(ctx, e.Store, stream); err != nil {
		return fmt.Errorf("removing the log of stream %s: %w", stream, err)
	}
	return nil
}
