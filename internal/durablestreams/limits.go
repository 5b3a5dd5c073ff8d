package durablestreams

import (
	"errors"
	"time"
)

// Limits bounds what one request may take, and what all of them together may.
type Limits struct {
	// BodyBytes bounds the body of one append or create.
	BodyBytes int64
	// BodiesBytes bounds the bodies that are held in memory at the same time.
	BodiesBytes int64
	// Messages bounds the elements of one JSON batch.
	Messages int
	// TokenBytes bounds Producer-Id and Stream-Seq.
	TokenBytes int
	// LiveReads bounds the long-polls and event streams that are served at the same time.
	LiveReads int64
	// ReadBytes bounds what one read answers, but for a single message that is larger.
	ReadBytes int
	// EventBytes bounds the payload of one data event, but for a single message that is larger.
	EventBytes int

	// BodyTimeout bounds how long a client may take to send a body.
	BodyTimeout time.Duration
	// AppendTimeout bounds the wait for an append to be durable; behind it the outcome is unknown.
	AppendTimeout time.Duration
	// ReadTimeout bounds the wait for the object store in a read.
	ReadTimeout time.Duration
	// WriteTimeout bounds how long a client may take to accept one answer, or one event group.
	WriteTimeout time.Duration
	// LongPoll is how long a long-poll waits, at most [MaxLongPoll].
	LongPoll time.Duration
	// EventStream is how long one event stream lasts, and up to a tenth more, before it is ended: then requests can
	// collapse again.
	EventStream time.Duration
}

// MaxLongPoll is the longest wait of a long-poll: client and proxy time-outs start at 30 s.
const MaxLongPoll = 25 * time.Second

// DefaultLimits returns the limits that are used where nothing else is configured.
func DefaultLimits() Limits {
	return Limits{
		BodyBytes:     8 << 20,
		BodiesBytes:   256 << 20,
		Messages:      10_000,
		TokenBytes:    256,
		LiveReads:     20_000,
		ReadBytes:     1 << 20,
		EventBytes:    256 << 10,
		BodyTimeout:   30 * time.Second,
		AppendTimeout: 20 * time.Second,
		ReadTimeout:   20 * time.Second,
		WriteTimeout:  30 * time.Second,
		LongPoll:      20 * time.Second,
		EventStream:   60 * time.Second,
	}
}

func (l Limits) check() error {
	least := min(l.BodyBytes, l.LiveReads, int64(min(l.Messages, l.TokenBytes, l.ReadBytes, l.EventBytes)))
	if least <= 0 {
		return errors.New("every limit of size or number must be above 0")
	}
	if l.BodiesBytes < l.BodyBytes {
		return errors.New("the limit of all bodies is below the limit of one")
	}
	times := min(l.BodyTimeout, l.AppendTimeout, l.ReadTimeout, l.WriteTimeout, l.LongPoll, l.EventStream)
	if times <= 0 {
		return errors.New("every time limit must be above 0")
	}
	if l.LongPoll > MaxLongPoll {
		return errors.New("the long-poll wait is above 25 s")
	}
	return nil
}
