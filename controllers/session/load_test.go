package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/load"
)

// countedLog answers appends as it is told.
type countedLog struct {
	Log
	err error
}

func (l *countedLog) Append(context.Context, engine.Append) (engine.Appended, error) {
	return engine.Appended{}, l.err
}

func (l *countedLog) Read(context.Context, engine.Offset, int) (engine.Batch, error) {
	return engine.Batch{}, nil
}

func TestALogIsMetered(t *testing.T) {
	now := time.Unix(0, 0)
	inner := &countedLog{}
	log := &meteredLog{Log: inner, now: func() time.Time { now = now.Add(2 * time.Millisecond); return now }}
	appending := engine.Append{Messages: [][]byte{[]byte("12345"), []byte("678")}}
	for range 2 {
		if _, err := log.Append(t.Context(), appending); err != nil {
			t.Fatal(err)
		}
	}
	inner.err = errors.New("refused")
	if _, err := log.Append(t.Context(), appending); !errors.Is(err, inner.err) {
		t.Errorf("got %v", err)
	}
	if _, err := log.Read(t.Context(), engine.Offset(0), 1); err != nil {
		t.Fatal(err)
	}
	want := load.Sample{Bytes: 16, Requests: 4, Appends: 2, AppendTime: 4 * time.Millisecond}
	if diff := cmp.Diff(want, log.take()); diff != "" {
		t.Errorf("sample (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(load.Sample{}, log.take()); diff != "" {
		t.Errorf("a second look (-want +got):\n%s", diff)
	}
}
