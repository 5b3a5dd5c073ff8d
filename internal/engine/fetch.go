package engine

import (
	"context"
	"fmt"
)

// fetch is a block that somebody reads from the store now. Whoever else wants it waits for it, so that a thousand readers at one
// position cost one call of the store.
type fetch struct {
	key  blockKey
	done chan struct{}
	// block is what was read, once done is closed; nil where that failed.
	block *block
}

// share returns a block: from memory, from whoever reads it already, or by calling read, which must settle the fetch that it
// is given, whatever comes of it. A read that failed fails nobody but its own caller: it may have been the caller who gave up.
func (c *Cache) share(ctx context.Context, key blockKey, read func(mine *fetch) (*block, error)) (*block, error) {
	for {
		b, f, mine := c.claim(key)
		switch {
		case b != nil:
			return b, nil
		case mine:
			return read(f)
		}
		select {
		case <-f.done:
			if f.block != nil {
				return f.block, nil
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// claim returns a block that is in memory, or the fetch that brings it. It is the caller's own where mine is true.
func (c *Cache) claim(key blockKey) (b *block, f *fetch, mine bool) {
	if x, ok := c.get(key); ok {
		return x.(*block), nil, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, ok := c.fetches[key]; ok {
		return nil, f, false
	}
	f = &fetch{key: key, done: make(chan struct{})}
	c.fetches[key] = f
	return nil, f, true
}

// settle ends a fetch: with its block, or nil where it failed.
func (c *Cache) settle(f *fetch, b *block) {
	if b != nil {
		c.put(f.key, b)
	}
	c.mu.Lock()
	delete(c.fetches, f.key)
	c.mu.Unlock()
	f.block = b
	close(f.done)
}

// fetchRun reads a block of a chunk and, in the same call of the store, those behind it: as long as they hold what is wanted, find
// room in the cache, and nobody reads them already.
func (s *Session) fetchRun(ctx context.Context, first *fetch, index chunkIndex, want int) (*block, error) {
	cache, i := s.cfg.Cache, first.key.part
	want = min(want, cache.limit/cacheShare)
	run := []*fetch{first}
	for j := i + 1; j < len(index) && int(index[j].start-index[i].start) < want; j++ {
		_, f, mine := cache.claim(blockKey{object: first.key.object, part: j})
		if !mine {
			break
		}
		run = append(run, f)
	}
	blocks, err := s.readBlocks(ctx, first.key.object, index[i:i+len(run)])
	for k, f := range run {
		var b *block
		if k < len(blocks) {
			b = blocks[k]
		}
		cache.settle(f, b)
	}
	if len(blocks) == 0 {
		return nil, err
	}
	return blocks[0], nil
}

// readBlocks reads blocks of a chunk that follow each other. Where one is broken it returns those before it, and why.
func (s *Session) readBlocks(ctx context.Context, object string, run chunkIndex) ([]*block, error) {
	begin, last := run[0].at, run[len(run)-1]
	data, err := s.getRange(ctx, object, begin, last.at+last.length-begin)
	if err != nil {
		return nil, err
	}
	blocks := make([]*block, 0, len(run))
	for k := range run {
		at := min(run[k].at-begin, int64(len(data)))
		b, err := decodeChunkBlock(data[at:min(at+run[k].length, int64(len(data)))], &run[k])
		if err != nil {
			return blocks, fmt.Errorf("block %d from position %d on: %w", k, run[0].start, err)
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

const (
	// cacheShare is the part of a cache that one run of blocks may take.
	cacheShare = 4
	// prefetchesAtOnce bounds the sessions of one cache that read ahead at the same time.
	prefetchesAtOnce = 16
)

// prefetch reads what a reader who got as far as next is going to ask for into the cache. A session does it once at a time: it
// helps who reads a stream from end to end, and costs others little.
func (s *Session) prefetch(next, tail Offset) {
	size := s.cfg.Limits.PrefetchBytes
	if next >= tail || size > s.cfg.Cache.limit/cacheShare || !s.prefetching.CompareAndSwap(false, true) {
		return
	}
	if !s.cfg.Cache.beginPrefetch() {
		s.prefetching.Store(false)
		return
	}
	go func() {
		defer s.prefetching.Store(false)
		defer s.cfg.Cache.endPrefetch()
		end := min(next+Offset(size), tail)
		for at := next; at < end; {
			b, err := s.load(s.work, at, int(end-at))
			if err != nil {
				return // the reader finds out by itself
			}
			at = b.end()
		}
	}()
}

func (c *Cache) beginPrefetch() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prefetching >= prefetchesAtOnce {
		return false
	}
	c.prefetching++
	return true
}

func (c *Cache) endPrefetch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prefetching--
}
