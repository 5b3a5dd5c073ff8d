package storemeter

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/streamshift/streamshift/internal/engine/store"
)

// answering is a store that gives every request the same answer.
type answering struct{ err error }

func (a answering) Create(context.Context, string, []byte) error { return a.err }
func (a answering) Get(context.Context, string) ([]byte, error)  { return nil, a.err }
func (a answering) Delete(context.Context, string) error         { return a.err }
func (a answering) GetRange(context.Context, string, int64, int64) ([]byte, error) {
	return nil, a.err
}
func (a answering) List(context.Context, string, string, int) ([]string, error) { return nil, a.err }

func TestAnErrorIsWhatTheStoreCouldNotAnswer(t *testing.T) {
	cases := map[string]struct {
		answer     error
		wantErrors float64
	}{
		"it was done":                 {answer: nil, wantErrors: 0},
		"the object exists":           {answer: store.ErrExists, wantErrors: 0},
		"the object does not exist":   {answer: store.ErrNotFound, wantErrors: 0},
		"the caller has gone":         {answer: context.Canceled, wantErrors: 0},
		"the store took too long":     {answer: context.DeadlineExceeded, wantErrors: 1},
		"the store refused to answer": {answer: errors.New("slow down"), wantErrors: 1},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			clock := time.Unix(1000, 0)
			tick := func() time.Time { clock = clock.Add(time.Second); return clock }
			s := New(answering{c.answer}, prometheus.NewRegistry(), tick)
			for operation, ask := range map[string]func() error{
				create:   func() error { return s.Create(t.Context(), "a", nil) },
				remove:   func() error { return s.Delete(t.Context(), "a") },
				get:      func() error { _, err := s.Get(t.Context(), "a"); return err },
				getRange: func() error { _, err := s.GetRange(t.Context(), "a", 0, 1); return err },
				list:     func() error { _, err := s.List(t.Context(), "a", "", 1); return err },
			} {
				if err := ask(); !errors.Is(err, c.answer) {
					t.Errorf("%s answered %v", operation, err)
				}
				if got := testutil.ToFloat64(s.errs.WithLabelValues(operation)); got != c.wantErrors {
					t.Errorf("%s counted %v errors, want %v", operation, got, c.wantErrors)
				}
			}
			if got := testutil.CollectAndCount(s.requests); got != 5 {
				t.Errorf("%d kinds of requests were measured", got)
			}
		})
	}
}
