package engine

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
)

// Config says which stream a session opens, and how.
type Config struct {
	// Stream is the stream's UID and its folder in the store: letters, digits, '.', '_', '-'; at most 128 bytes.
	Stream string
	// Epoch is the one to open; above 0.
	Epoch Epoch
	// Session is the identity of this opening, drawn at random by the caller, of the same form as Stream. A repeated
	// attempt of the same opening keeps it; every other opening, of whatever process, has another one.
	Session string
	// Tail is the number of the closing segment of the session before, 0 where it is not known. It saves reading and
	// is never trusted.
	Tail SegmentNumber
	// Known is the number of a segment that was written for certain, 0 where none is known. Where the log ends before it, the result is a
	// *TruncatedError, and nothing is written.
	Known SegmentNumber
	// Resumes goes on with the very session that was closed: Session and Epoch are its own, and Tail is its closing
	// segment. A new opening of the same session is written right behind that one; where another session has been
	// opened since, the result is a *FencedError. Only the process that closed the session may ask for it.
	Resumes bool
	// Created tells that the stream exists for clients without an append that creates it.
	Created bool
	Limits  Limits
	// Cache keeps what was read and written, shared by the sessions of a process. Nil: one of the session's own.
	Cache *Cache
	// Clock tells the time; nil means time.Now.
	Clock func() time.Time
	Log   logr.Logger
	// Metrics observes the session; its functions may be nil.
	Metrics Metrics
}

// Metrics are called while the session works. They must not block and must not call the session.
type Metrics struct {
	// SegmentWritten is called for each segment of appends in the store: how many appends, bytes of the object, and
	// time from the first attempt.
	SegmentWritten func(appends, bytes int, took time.Duration)
	// StoreFailed is called for each call of the store that failed: "create", "get", "delete".
	StoreFailed func(operation string)
	// Checkpointed is called for each checkpoint: how many segments it merged, and their payload.
	Checkpointed func(segments int, payload int64)
}

const maxIdentity = 128

// prepare checks the configuration and fills in defaults.
func (c *Config) prepare() error {
	if err := checkIdentity(c.Stream); err != nil {
		return fmt.Errorf("checking the stream's name: %w", err)
	}
	if err := checkIdentity(c.Session); err != nil {
		return fmt.Errorf("checking the session's name: %w", err)
	}
	if c.Resumes && c.Tail == 0 {
		return errors.New("a session resumes behind its closing segment, which is not named")
	}
	if c.Epoch < 1 || c.Tail < 0 || c.Known < 0 {
		return errors.New("the epoch must be above 0, and the tail and the known segment not below")
	}
	c.Limits = c.Limits.withDefaults()
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Cache == nil {
		c.Cache = NewCache(c.Limits.CacheBytes)
	}
	if c.Log.GetSink() == nil {
		c.Log = logr.Discard()
	}
	return nil
}

// checkIdentity admits what can be one part of a store's key.
func checkIdentity(name string) error {
	if name == "" || len(name) > maxIdentity || name[0] == '.' {
		return fmt.Errorf("%q must have 1 to %d bytes and not begin with a dot", name, maxIdentity)
	}
	for _, c := range []byte(name) {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && c != '.' && c != '_' && c != '-' {
			return fmt.Errorf("%q holds the byte %#x", name, c)
		}
	}
	return nil
}
