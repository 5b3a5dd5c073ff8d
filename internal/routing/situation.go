package routing

import (
	"context"
	"errors"

	"github.com/streamshift/streamshift/internal/durablestreams"
)

// ErrNotFound tells that a stream does not exist.
var ErrNotFound = errors.New("stream does not exist")

// Situation is one participant's view of one stream: its register, and the session where this node has it open.
type Situation struct {
	// UID is the identity of the Stream object.
	UID string
	// Epoch is the register's.
	Epoch int64
	// Owner is the node that the register names; empty: not placed yet.
	Owner string
	// Pending is the transfer that the register points at; nil: none.
	Pending *Pending
	// Arrived is the UID of the transfer that made Owner the owner at Epoch; empty: none did.
	Arrived string
	// Log is the open session on this node; nil: none that takes requests.
	Log durablestreams.Log
	// CutOff tells that the register is out of this node's reach: as the source of a pending transfer it serves for as
	// long as Log is there.
	CutOff bool
	// Overdue tells that the pending transfer has brought the stream to this node for so long that its source may serve
	// it again.
	Overdue bool
	// Settings are what the stream's creator chose.
	Settings durablestreams.Settings
}

// Pending is the pending record of a transfer.
type Pending struct {
	UID, Source, Target string
}

// Directory is what a node's front asks about streams. The node agent implements it. Its methods may be called at the
// same time.
type Directory interface {
	// Situation returns this node's own view of a stream, without asking anybody; known is false where the node has no
	// part in it. changed is closed at the next change of anything in s, or of known: a session that ends is one, and is
	// no longer in Log then. A node that has just given a stream away does well to keep it known with its new owner for
	// a while.
	Situation(stream Stream) (s Situation, known bool, changed <-chan struct{})
	// Locate asks the API server about a stream that this node has no part in, or has an old view of. The Log of the
	// answer is nil. Where the stream is not placed yet it may wait for that until ctx ends. The implementation bounds
	// how often it asks. The error is ErrNotFound where there is no such stream.
	Locate(ctx context.Context, stream Stream) (Situation, error)
	// Address returns the base URL of a node's front.
	Address(ctx context.Context, node string) (string, error)
	// Create makes the Stream object; nil also where it exists already.
	Create(ctx context.Context, stream Stream, settings durablestreams.Settings) error
	// Delete deletes the Stream object with this UID and its log. It answers once nobody can read the stream any more;
	// ErrNotFound where that was so before, engine.ErrSessionClosed where this node cannot do it any more and nothing
	// was done.
	Delete(ctx context.Context, stream Stream, uid string) error
}
