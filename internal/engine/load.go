package engine

import (
	"context"
	"errors"
	"fmt"
	"sort"
)

// errGone tells that an object is missing that was there: a newer checkpoint replaced it, of this session (then its
// index is newer too) or of another one (then this one is fenced).
var errGone = errors.New("object is gone")

// loadTries bounds how often a read looks again because what it wanted was merged meanwhile.
const loadTries = 4

// load returns the block that holds a position below the tail: from memory, a segment or a chunk. want is how many bytes from
// there on are going to be asked for: what a chunk holds of them is read at once.
func (s *Session) load(ctx context.Context, at Offset, want int) (*block, error) {
	var err error
	for range loadTries {
		var b *block
		if b, err = s.loadOnce(ctx, at, want); !errors.Is(err, errGone) {
			return b, err
		}
	}
	return nil, err
}

func (s *Session) loadOnce(ctx context.Context, at Offset, want int) (*block, error) {
	s.mu.Lock()
	i := sort.Search(len(s.spans), func(i int) bool { return s.spans[i].end > at })
	inSpan := i < len(s.spans) && s.spans[i].first <= at
	var found span
	if inSpan {
		found = s.spans[i]
	}
	s.mu.Unlock()
	if inSpan {
		return s.loadSpan(ctx, found)
	}
	c, _, err := s.loadCheckpoint(ctx)
	if err != nil {
		return nil, err
	}
	i = sort.Search(len(c.chunks), func(i int) bool { return c.chunks[i].end > at })
	if i == len(c.chunks) || c.chunks[i].start > at {
		return nil, fmt.Errorf("%w: no segment and no chunk holds the position", errGone)
	}
	return s.loadFromChunk(ctx, &c.chunks[i], at, want)
}

// loadSpan returns the payload of a segment.
func (s *Session) loadSpan(ctx context.Context, sp span) (*block, error) {
	key := segmentKey(s.cfg.Stream, sp.number)
	b, err := s.cfg.Cache.share(ctx, blockKey{object: key}, func(mine *fetch) (*block, error) {
		b, err := s.fetchSpan(ctx, key, sp)
		s.cfg.Cache.settle(mine, b)
		return b, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading segment %d: %w", sp.number, err)
	}
	return b, nil
}

func (s *Session) fetchSpan(ctx context.Context, key string, sp span) (*block, error) {
	out, err := perform(ctx, s.store, &s.cfg.Limits, call{kind: callGet, key: key})
	if err != nil {
		return nil, err
	}
	if out.answer == answerAbsent {
		return nil, errGone
	}
	seg, err := decodeSegment(out.data)
	if err != nil {
		return nil, err
	}
	entries, err := decodeEntries(seg.body)
	if err != nil {
		return nil, err
	}
	b := newBlock(seg.first, messagesOf(entries))
	if seg.stream != s.cfg.Stream || seg.number != sp.number || b.first != sp.first || b.end() != sp.end {
		return nil, fmt.Errorf("%w: it is not the segment that the index names", errMalformed)
	}
	return b, nil
}

// loadFromChunk returns the block of a chunk that holds a position.
func (s *Session) loadFromChunk(ctx context.Context, ref *chunkRef, at Offset, want int) (*block, error) {
	index, err := s.loadChunkIndex(ctx, ref)
	if err != nil {
		return nil, fmt.Errorf("reading chunk %s: %w", chunkName(ref), err)
	}
	i := sort.Search(len(index), func(i int) bool { return index[i].end > at })
	key := blockKey{object: objectKey(s.cfg.Stream, chunkName(ref)), part: i}
	b, err := s.cfg.Cache.share(ctx, key, func(mine *fetch) (*block, error) {
		return s.fetchRun(ctx, mine, index, want)
	})
	if err != nil {
		return nil, fmt.Errorf("reading block %d of chunk %s: %w", i, chunkName(ref), err)
	}
	return b, nil
}

// indexPart is the part under which a chunk's index is cached; blocks count from 0.
const indexPart = -1

func (s *Session) loadChunkIndex(ctx context.Context, ref *chunkRef) (chunkIndex, error) {
	key := objectKey(s.cfg.Stream, chunkName(ref))
	if x, ok := s.cfg.Cache.get(blockKey{object: key, part: indexPart}); ok {
		return x.(chunkIndex), nil
	}
	data, err := s.getRange(ctx, key, ref.indexAt, ref.size-ref.indexAt)
	if err != nil {
		return nil, err
	}
	x, err := decodeChunkIndex(data, s.cfg.Stream, ref)
	if err != nil {
		return nil, err
	}
	s.cfg.Cache.put(blockKey{object: key, part: indexPart}, x)
	return x, nil
}

// loadChunk returns all blocks of a chunk, past the cache, which they would only wash out.
func (s *Session) loadChunk(ctx context.Context, ref *chunkRef) ([]*block, error) {
	data, err := s.getRange(ctx, objectKey(s.cfg.Stream, chunkName(ref)), 0, ref.size)
	if err != nil {
		return nil, err
	}
	if int64(len(data)) != ref.size {
		return nil, fmt.Errorf("%w: the chunk has %d bytes, its reference says %d", errMalformed, len(data), ref.size)
	}
	index, err := decodeChunkIndex(data[ref.indexAt:], s.cfg.Stream, ref)
	if err != nil {
		return nil, err
	}
	blocks := make([]*block, 0, len(index))
	for i := range index {
		b, err := decodeChunkBlock(data[index[i].at:][:index[i].length], &index[i])
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

func (s *Session) getRange(ctx context.Context, key string, at, length int64) ([]byte, error) {
	out, err := perform(ctx, s.store, &s.cfg.Limits, call{kind: callRange, key: key, at: at, length: length})
	if err != nil {
		return nil, err
	}
	if out.answer == answerAbsent {
		return nil, errGone
	}
	return out.data, nil
}
