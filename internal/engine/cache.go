package engine

import (
	"container/list"
	"sort"
	"sync"
)

// Cache keeps decoded payload in memory, bounded in bytes, the latest used longest. Many sessions may share one.
type Cache struct {
	limit int

	mu      sync.Mutex
	size    int
	blocks  map[blockKey]*list.Element // of *cached
	recent  list.List                  // front: used last
	fetches map[blockKey]*fetch        // what is read from the store now
	// prefetching counts the sessions that read ahead of a reader now.
	prefetching int
}

// blockKey names a part of an object.
type blockKey struct {
	object string
	part   int
}

type cached struct {
	key   blockKey
	value costly
}

// costly is what a cache keeps: a *block or a chunkIndex.
type costly interface {
	// cost is about the memory that it takes, in bytes.
	cost() int
}

// NewCache returns an empty cache of so many bytes.
func NewCache(limit int) *Cache {
	return &Cache{limit: limit, blocks: map[blockKey]*list.Element{}, fetches: map[blockKey]*fetch{}}
}

func (c *Cache) get(key blockKey) (costly, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.blocks[key]
	if !ok {
		return nil, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*cached).value, true
}

func (c *Cache) put(key blockKey, value costly) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.blocks[key]; ok || value.cost() > c.limit {
		return
	}
	c.blocks[key] = c.recent.PushFront(&cached{key: key, value: value})
	c.size += value.cost()
	for c.size > c.limit {
		oldest := c.recent.Remove(c.recent.Back()).(*cached)
		delete(c.blocks, oldest.key)
		c.size -= oldest.value.cost()
	}
}

// block is a run of messages that follow each other.
type block struct {
	first    Offset
	messages [][]byte
	ends     []Offset // position behind each message
}

func newBlock(first Offset, messages [][]byte) *block {
	b := &block{first: first, messages: messages, ends: make([]Offset, len(messages))}
	for i, m := range messages {
		first += Offset(len(m))
		b.ends[i] = first
	}
	return b
}

// end is the position behind the block.
func (b *block) end() Offset {
	if len(b.ends) == 0 {
		return b.first
	}
	return b.ends[len(b.ends)-1]
}

// cost is about the memory that a block keeps: payload, and a slice and a position for each message.
func (b *block) cost() int {
	return int(b.end()-b.first) + 40*len(b.messages) + 256
}

// from appends to messages those from a position on, the first one cut where the position lies inside it, until limit
// bytes of payload are reached; but at least one where the block has any.
func (b *block) from(at Offset, messages [][]byte, limit int) ([][]byte, Offset) {
	i := sort.Search(len(b.ends), func(i int) bool { return b.ends[i] > at })
	taken := 0
	for ; i < len(b.messages); i++ {
		m := b.messages[i]
		m = m[len(m)-int(b.ends[i]-at):]
		if len(messages) > 0 && taken+len(m) > limit {
			break
		}
		messages = append(messages, m)
		taken += len(m)
		at = b.ends[i]
	}
	return messages, at
}
