package engine

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/streamshift/streamshift/internal/engine/store"
)

// rangedStore counts reads of blocks, and lets them pass only as fast as the gate does.
type rangedStore struct {
	store.Store
	gate chan struct{} // nil: open

	mu    sync.Mutex
	calls int
}

func (s *rangedStore) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	if strings.Contains(key, "/chunk/") && offset == chunkHead { // the first block, not the index
		s.mu.Lock()
		s.calls++
		s.mu.Unlock()
		if s.gate != nil {
			select {
			case <-s.gate:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}
	return s.Store.GetRange(ctx, key, offset, length)
}

func (s *rangedStore) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}

// chunked returns a session over a stream whose payload, 100 messages of 10 bytes in blocks of 50, is in one chunk, with an empty
// cache.
func chunked(t *testing.T, s store.Store, limits Limits) *Session {
	t.Helper()
	before := mustOpen(t, s, Config{Epoch: 1, Created: true, Limits: Limits{CheckpointSegments: 100, BlockBytes: 50}})
	for range 100 {
		mustAppend(t, before, Append{Messages: messages("0123456789")})
	}
	settled(t, before)
	tail := mustClose(t, before).Tail
	return mustOpen(t, s, Config{Epoch: 2, Tail: tail, Limits: limits})
}

func TestReadersOfOneBlockShareACallOfTheStore(t *testing.T) {
	ranged := &rangedStore{Store: newSimpleStore(), gate: make(chan struct{})}
	s := chunked(t, ranged, Limits{})
	const readers = 50
	impatient, giveUp := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := s.Read(impatient, 0, 10)
		left <- err
	}()
	waitFor(s, func() bool { return ranged.count() == 1 })
	var all sync.WaitGroup
	errs := make([]error, readers)
	for i := range readers {
		all.Go(func() { _, errs[i] = s.Read(t.Context(), 0, 10) })
	}
	giveUp() // who asked first takes nobody along
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the reader who gave up is told %v", err)
	}
	ranged.gate <- struct{}{}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if got := ranged.count(); got != 2 {
		t.Errorf("%d readers cost %d calls, want that of who gave up and one more", readers, got)
	}
}

func TestARunOfBlocksIsReadAtOnce(t *testing.T) {
	tests := map[string]struct {
		limits   Limits
		maxBytes int
		want     int // calls for reading everything
	}{
		"what is asked for, where it is ten blocks":              {Limits{}, 500, 2},
		"what comes next, where little is asked for":             {Limits{PrefetchBytes: 1000}, 50, 2},
		"one block, where the cache has no room for more":        {Limits{CacheBytes: 1}, 50, 20},
		"as much as is a quarter of the cache, which is a block": {Limits{CacheBytes: 200}, 500, 20},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			counted := &countedStore{Store: newSimpleStore()}
			s := chunked(t, counted, test.limits)
			counted.reset()
			got := 0
			for at := Offset(0); at < 1000; {
				b, err := s.Read(t.Context(), at, test.maxBytes)
				if err != nil {
					t.Fatal(err)
				}
				got += len(b.Messages)
				at = b.Next
				waitFor(s, func() bool { return !s.prefetching.Load() })
			}
			if got != 100 {
				t.Errorf("read %d messages, want 100", got)
			}
			if got := counted.count(); got != test.want {
				t.Errorf("%d calls for blocks, want %d", got, test.want)
			}
		})
	}
}

// countedStore counts reads of blocks.
type countedStore struct {
	store.Store
	mu sync.Mutex
	n  int
}

func (s *countedStore) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	object, err := s.Get(ctx, key)
	if err == nil && offset+length < int64(len(object)) { // not the index, which is at the end
		s.mu.Lock()
		s.n++
		s.mu.Unlock()
	}
	return s.Store.GetRange(ctx, key, offset, length)
}

func (s *countedStore) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n = 0
}

func (s *countedStore) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

// A block that is broken must not fail those in front of it, with which it was read.
func TestABrokenBlockFailsOnlyItself(t *testing.T) {
	objects := newSimpleStore()
	s := chunked(t, objects, Limits{})
	for key, data := range objects.objects {
		if strings.Contains(key, "/chunk/") {
			data[len(data)/2] ^= 1
		}
	}
	var err error
	for at := Offset(0); err == nil && at < 1000; {
		var b Batch
		b, err = s.Read(t.Context(), at, 1000)
		at = b.Next
	}
	if !errors.Is(err, errMalformed) {
		t.Errorf("reading over a broken block: %v", err)
	}
	if b, err := s.Read(t.Context(), 0, 50); err != nil || len(b.Messages) != 5 {
		t.Errorf("reading in front of a broken block: %d messages, %v", len(b.Messages), err)
	}
}
