package storemeter

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/streamshift/streamshift/internal/engine/store"
)

// Kinds of requests, as the label "operation" says them.
const (
	create   = "create"
	get      = "get"
	getRange = "get_range"
	remove   = "delete"
	list     = "list"
)

// buckets are seconds: a file takes a millisecond, a distant bucket some hundreds, and a request gives up within some tens of seconds.
var buckets = []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30}

// Store is a store that is measured. It is safe for concurrent use.
type Store struct {
	inner    store.Store
	now      func() time.Time
	requests *prometheus.HistogramVec
	errs     *prometheus.CounterVec
}

var _ store.Store = (*Store)(nil)

// New measures a store, and registers the metrics. now reads a clock that does not go backwards.
func New(inner store.Store, registry prometheus.Registerer, now func() time.Time) *Store {
	s := &Store{
		inner: inner, now: now,
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "streamshift_store_request_seconds", Buckets: buckets,
			Help: "Time that requests to the object store took, failed ones too: create (a flush), get, get_range, delete, list.",
		}, []string{"operation"}),
		errs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "streamshift_store_request_errors_total",
			Help: "Requests to the object store that failed. That an object exists, or does not, is an answer.",
		}, []string{"operation"}),
	}
	for _, operation := range []string{create, get, getRange, remove, list} {
		s.requests.WithLabelValues(operation)
		s.errs.WithLabelValues(operation) // so that a first error is an increase
	}
	registry.MustRegister(s.requests, s.errs)
	return s
}

// took notes a request that began then and ended now with the error, which it returns as it is.
func (s *Store) took(operation string, began time.Time, err error) error {
	s.requests.WithLabelValues(operation).Observe(s.now().Sub(began).Seconds())
	answered := err == nil || errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrNotFound) || errors.Is(err, context.Canceled)
	if !answered {
		s.errs.WithLabelValues(operation).Inc()
	}
	return err
}

// Create implements store.Store.
func (s *Store) Create(ctx context.Context, key string, data []byte) error {
	began := s.now()
	return s.took(create, began, s.inner.Create(ctx, key, data))
}

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	began := s.now()
	data, err := s.inner.Get(ctx, key)
	return data, s.took(get, began, err)
}

// GetRange implements store.Store.
func (s *Store) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	began := s.now()
	data, err := s.inner.GetRange(ctx, key, offset, length)
	return data, s.took(getRange, began, err)
}

// Delete implements store.Store.
func (s *Store) Delete(ctx context.Context, key string) error {
	began := s.now()
	return s.took(remove, began, s.inner.Delete(ctx, key))
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	began := s.now()
	keys, err := s.inner.List(ctx, prefix, after, limit)
	return keys, s.took(list, began, err)
}
