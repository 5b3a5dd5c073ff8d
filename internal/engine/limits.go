package engine

import "time"

// Limits bounds what a session holds and how long it waits. A zero field means its default.
type Limits struct {
	// BatchBytes and BatchAppends bound what goes into one segment; a single append may be larger than BatchBytes.
	BatchBytes, BatchAppends int
	// AppendBytes bounds the payload of one append, AppendMessages its messages.
	AppendBytes, AppendMessages int
	// Linger is how long a batch waits for the writers whose previous appends were acknowledged together. A lone
	// append never waits.
	Linger time.Duration
	// WaitingAppends and WaitingBytes bound the appends that are not in the object store yet.
	WaitingAppends, WaitingBytes int
	// AnswerWithin is after what time an append that is still waiting is answered with ErrOutcomeUnknown.
	AnswerWithin time.Duration
	// StoreTimeout bounds one call of the object store. RetryAfter is the pause after the first failed one; it
	// doubles up to RetryAtMost.
	StoreTimeout, RetryAfter, RetryAtMost time.Duration
	// CacheBytes bounds the memory of a cache that a session makes for itself where Config names none.
	CacheBytes int
	// Producers is how many producers a stream remembers. Beyond it the one that was idle for longest is forgotten:
	// should it come back, it is a new producer and has to begin at sequence 0.
	Producers int
	// CheckpointSegments and CheckpointBytes say after how many segments, or bytes of them, they are merged.
	CheckpointSegments, CheckpointBytes int
	// TailSegments is how many unmerged segments a stream may have before appends are refused with ErrOverloaded.
	TailSegments int
	// ChunkBytes is the size of payload up to which small chunks are merged into larger ones.
	ChunkBytes int
	// BlockBytes is the payload that is compressed together in a chunk: the least that is read of one.
	BlockBytes int
	// PrefetchBytes is how much is read ahead of a reader who has not reached the tail. A cache that is smaller than four
	// times of it is not read into ahead.
	PrefetchBytes int
}

// DefaultLimits returns the limits that hold where Config names none.
func DefaultLimits() Limits {
	return Limits{
		BatchBytes:         4 << 20,
		BatchAppends:       4096,
		AppendBytes:        16 << 20,
		AppendMessages:     1 << 16,
		Linger:             500 * time.Microsecond,
		WaitingAppends:     16384,
		WaitingBytes:       64 << 20,
		AnswerWithin:       10 * time.Second,
		StoreTimeout:       10 * time.Second,
		RetryAfter:         50 * time.Millisecond,
		RetryAtMost:        2 * time.Second,
		CacheBytes:         16 << 20,
		Producers:          10_000,
		CheckpointSegments: 128,
		CheckpointBytes:    16 << 20,
		TailSegments:       8192,
		ChunkBytes:         32 << 20,
		BlockBytes:         256 << 10,
		PrefetchBytes:      4 << 20,
	}
}

// withDefaults fills the fields that are zero.
func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	orDefault(&l.BatchBytes, d.BatchBytes)
	orDefault(&l.BatchAppends, d.BatchAppends)
	orDefault(&l.AppendBytes, d.AppendBytes)
	orDefault(&l.AppendMessages, d.AppendMessages)
	orDefault(&l.Linger, d.Linger)
	orDefault(&l.WaitingAppends, d.WaitingAppends)
	orDefault(&l.WaitingBytes, d.WaitingBytes)
	orDefault(&l.AnswerWithin, d.AnswerWithin)
	orDefault(&l.StoreTimeout, d.StoreTimeout)
	orDefault(&l.RetryAfter, d.RetryAfter)
	orDefault(&l.RetryAtMost, d.RetryAtMost)
	orDefault(&l.CacheBytes, d.CacheBytes)
	orDefault(&l.Producers, d.Producers)
	orDefault(&l.CheckpointSegments, d.CheckpointSegments)
	orDefault(&l.CheckpointBytes, d.CheckpointBytes)
	orDefault(&l.TailSegments, d.TailSegments)
	orDefault(&l.ChunkBytes, d.ChunkBytes)
	orDefault(&l.BlockBytes, d.BlockBytes)
	orDefault(&l.PrefetchBytes, d.PrefetchBytes)
	return l
}

func orDefault[T int | time.Duration](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}
