package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/streamshift/streamshift/internal/engine/store"
)

// simpleStore is a store in a map, without faults of its own.
type simpleStore struct {
	mu      sync.Mutex
	objects map[string][]byte
}

func newSimpleStore() *simpleStore { return &simpleStore{objects: map[string][]byte{}} }

func (s *simpleStore) Create(_ context.Context, key string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.objects[key]; ok {
		return store.ErrExists
	}
	s.objects[key] = slices.Clone(data)
	return nil
}

func (s *simpleStore) Get(_ context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.objects[key]
	if !ok {
		return nil, store.ErrNotFound
	}
	return slices.Clone(data), nil
}

func (s *simpleStore) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	data, err := s.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	begin := min(offset, int64(len(data)))
	return data[begin:min(begin+length, int64(len(data)))], nil
}

func (s *simpleStore) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
	return nil
}

func (s *simpleStore) List(_ context.Context, prefix, after string, limit int) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var keys []string
	for key := range s.objects {
		if strings.HasPrefix(key, prefix) && key > after {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys[:min(limit, len(keys))], nil
}

// fault is what happens to one call of a store.
type fault byte

const (
	faultNone fault = iota
	// faultRefused: the call does nothing and fails.
	faultRefused
	// faultAnswerLost: the call is applied and fails.
	faultAnswerLost
	// faultLate: the call fails, and is applied when the test says so.
	faultLate
	// faultCrash: this call and all that follow do nothing and fail.
	faultCrash
	// faultCrashAfter: this call is applied and fails, all that follow do nothing and fail.
	faultCrashAfter
)

func (f fault) String() string {
	return [...]string{"none", "refused", "answer lost", "late", "crash", "crash after"}[f]
}

var errFault = errors.New("injected fault")

// faultyStore is one process's view of a store: it counts calls and injects what plan says.
type faultyStore struct {
	store.Store
	// plan is asked for each call, counted from 1.
	plan func(n int, c call) fault
	// crash is called when the process crashes; nil for nothing.
	crash func()

	mu      sync.Mutex
	calls   int
	crashed bool
	late    []func()
}

func (s *faultyStore) decide(c call) fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.crashed {
		return faultCrash
	}
	f := s.plan(s.calls, c)
	if f == faultCrash || f == faultCrashAfter {
		s.crashed = true
		if s.crash != nil {
			go s.crash()
		}
	}
	return f
}

// onCrash says what to do when the process crashes.
func (s *faultyStore) onCrash(crash func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crash = crash
}

func (s *faultyStore) isCrashed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.crashed
}

// do carries a call out, or not. A late one is kept.
func (s *faultyStore) do(c call, apply func() error) error {
	switch f := s.decide(c); f {
	case faultNone:
		return apply()
	case faultAnswerLost, faultCrashAfter:
		_ = apply()
		return fmt.Errorf("%w: %v", errFault, f)
	case faultLate:
		if c.kind != callCreate && c.kind != callDelete {
			return fmt.Errorf("%w: %v", errFault, f) // nobody would take what is read late
		}
		s.mu.Lock()
		s.late = append(s.late, func() { _ = apply() })
		s.mu.Unlock()
		return fmt.Errorf("%w: %v", errFault, f)
	case faultRefused, faultCrash:
		return fmt.Errorf("%w: %v", errFault, f)
	}
	panic("unknown fault")
}

// applyLate applies what was put off.
func (s *faultyStore) applyLate() {
	s.mu.Lock()
	late := s.late
	s.late = nil
	s.mu.Unlock()
	for _, apply := range late {
		apply()
	}
}

func (s *faultyStore) Create(ctx context.Context, key string, data []byte) error {
	data = slices.Clone(data)
	return s.do(call{kind: callCreate, key: key}, func() error { return s.Store.Create(ctx, key, data) })
}

func (s *faultyStore) Get(ctx context.Context, key string) (data []byte, err error) {
	err = s.do(call{kind: callGet, key: key}, func() (err error) {
		data, err = s.Store.Get(ctx, key)
		return err
	})
	return data, err
}

func (s *faultyStore) GetRange(ctx context.Context, key string, offset, length int64) (data []byte, err error) {
	err = s.do(call{kind: callRange, key: key}, func() (err error) {
		data, err = s.Store.GetRange(ctx, key, offset, length)
		return err
	})
	return data, err
}

func (s *faultyStore) Delete(ctx context.Context, key string) error {
	return s.do(call{kind: callDelete, key: key}, func() error { return s.Store.Delete(ctx, key) })
}
