package engine

import (
	"errors"
	"fmt"
	"time"
)

// Epoch numbers the openings of one stream. It is assigned by the stream's register, is raised by every opening, is
// never lowered and never reused.
type Epoch int64

// Offset is a logical position in a stream: the number of payload bytes that were appended before it. It does not
// contain the epoch, so the tail before and after a transfer is one position.
type Offset int64

// SegmentNumber names one object of a stream's log. Numbers start at 1 and have no gap at the end of the log.
type SegmentNumber int64

// Append is one request to add to a stream, accepted as a whole or not at all.
type Append struct {
	// Messages are the payloads in order, none of them empty. A byte-mode append is one message; a JSON batch is one
	// message an element. It may be empty where CloseStream is set.
	Messages [][]byte
	// Producer makes the append idempotent; nil for a plain one.
	Producer *Producer
	// Seq is the writer's lexicographic sequence (Stream-Seq); it must rise. Empty: not given.
	Seq string
	// CloseStream closes the stream for ever, atomically with the messages.
	CloseStream bool
	// Create makes a stream exist for clients, atomically with the messages (which may be empty). On a stream that
	// exists already nothing is appended and Appended.Duplicate is set.
	Create bool
}

// Producer identifies an append for de-duplication. Its epoch is the client's and has nothing to do with Epoch.
type Producer struct {
	ID    string
	Epoch int64
	Seq   int64
}

// Appended is the outcome of an append that is in the object store.
type Appended struct {
	// Next is the stream's tail behind the append; for a duplicate, the tail as it is now.
	Next Offset
	// Duplicate tells that the same append was accepted before and nothing was added.
	Duplicate bool
	// LastSeq is the highest accepted sequence of the producer at its epoch, where a producer was given.
	LastSeq int64
	// StreamClosed tells that the stream is closed for appends.
	StreamClosed bool
}

// Batch is what a read returns: messages that follow each other without a gap.
type Batch struct {
	// Messages are whole payloads, but for the first one, which starts at From where From lies inside a message.
	// They must not be changed.
	Messages [][]byte
	From     Offset
	// Next is the position behind the last message; equal to From where there is none.
	Next Offset
	// Tail is the durable end of the stream when the batch was made. Next == Tail means up to date.
	Tail Offset
	// StreamClosed tells that nothing will ever follow Tail.
	StreamClosed bool
}

// Info describes an open stream.
type Info struct {
	// Created tells that the stream exists for clients: it was created by an Append with Create, or its session was
	// opened with Config.Created.
	Created bool
	// Start is the first position that is retained, Tail the durable end.
	Start, Tail  Offset
	StreamClosed bool
	// LastAccess is the time of the last read or append as far as it is known, coarsely: TTLs slide from it.
	LastAccess time.Time
}

var (
	// ErrSessionClosed tells that the session ended before the request was taken: it was not applied and never will
	// be. Who owns the stream now is for the caller to find out.
	ErrSessionClosed = errors.New("session is closed")
	// ErrOutcomeUnknown tells that the append may or may not be applied, now or later.
	ErrOutcomeUnknown = errors.New("the outcome of the append is unknown")
	// ErrOverloaded tells that a limit on waiting appends is reached: the append was not applied.
	ErrOverloaded = errors.New("too many appends are waiting")
	// ErrStreamDeleted tells that the log ends with the record of its deletion.
	ErrStreamDeleted = errors.New("stream is deleted")
	// ErrNotCreated tells that the stream does not exist for clients yet.
	ErrNotCreated = errors.New("stream is not created")
	// ErrSeqNotRising tells that Append.Seq is not above the last accepted one: the append was not applied.
	ErrSeqNotRising = errors.New("the sequence is not above the last accepted one")
	// ErrBeyondTail tells that a read starts behind the end of the stream.
	ErrBeyondTail = errors.New("offset is beyond the tail")
	// ErrTrimmed tells that a read starts before the first retained position.
	ErrTrimmed = errors.New("offset is before the first retained position")
)

// FencedError tells that the log belongs to another session: of a higher epoch, or an unknown one of the same.
type FencedError struct {
	// Epoch is the highest epoch found in the log.
	Epoch Epoch
}

// Error implements error.
func (e *FencedError) Error() string {
	return fmt.Sprintf("fenced: the log belongs to a session of epoch %d", e.Epoch)
}

// TruncatedError refuses to open a log that ends before a segment that is known to have been written.
type TruncatedError struct {
	// End is the number of the last segment that was found, 0 where there is none. Known is Config.Known.
	End, Known SegmentNumber
}

// Error implements error.
func (e *TruncatedError) Error() string {
	return fmt.Sprintf("the log ends at segment %d, and segment %d was written: this is not the object store that it is in, or one that has lost objects",
		e.End, e.Known)
}

// StreamClosedError refuses an append to a closed stream.
type StreamClosedError struct {
	// Tail is the final position of the stream.
	Tail Offset
}

// Error implements error.
func (e *StreamClosedError) Error() string {
	return fmt.Sprintf("stream is closed at offset %d", e.Tail)
}

// ProducerFault says what is wrong with a producer's epoch or sequence.
type ProducerFault int

const (
	// StaleProducerEpoch is an epoch below the producer's current one.
	StaleProducerEpoch ProducerFault = iota + 1
	// ProducerSeqGap is a sequence that skips at least one.
	ProducerSeqGap
	// ProducerEpochStart is a new epoch that does not start at sequence 0.
	ProducerEpochStart
)

// ProducerError refuses an append because of its producer's epoch or sequence. Nothing was applied.
type ProducerError struct {
	Fault ProducerFault
	// CurrentEpoch is the producer's epoch known to the stream.
	CurrentEpoch int64
	// ExpectedSeq and ReceivedSeq describe a gap.
	ExpectedSeq, ReceivedSeq int64
}

// Error implements error.
func (e *ProducerError) Error() string {
	switch e.Fault {
	case StaleProducerEpoch:
		return fmt.Sprintf("producer epoch is stale: the current one is %d", e.CurrentEpoch)
	case ProducerSeqGap:
		return fmt.Sprintf("producer sequence has a gap: expected %d, received %d", e.ExpectedSeq, e.ReceivedSeq)
	case ProducerEpochStart:
		return fmt.Sprintf("a new producer epoch starts at sequence 0, received %d", e.ReceivedSeq)
	}
	return "producer is refused"
}
