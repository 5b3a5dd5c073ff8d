package session

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/load"
)

// MeteredEngine counts what clients do with the sessions of an engine.
type MeteredEngine struct {
	Engine
	// Now reads a clock that does not go backwards.
	Now func() time.Time
}

// Open implements Engine.
func (e *MeteredEngine) Open(ctx context.Context, opening Opening) (Log, error) {
	log, err := e.Engine.Open(ctx, opening)
	if err != nil {
		return nil, err //nolint:wrapcheck // the engine's errors are told apart
	}
	return &meteredLog{Log: log, now: e.Now}, nil
}

// meteredLog counts on the way to a session.
type meteredLog struct {
	Log
	now func() time.Time

	bytes, requests, appends, nanoseconds atomic.Int64
}

// Append implements Log.
func (l *meteredLog) Append(ctx context.Context, a engine.Append) (engine.Appended, error) {
	began := l.now()
	appended, err := l.Log.Append(ctx, a)
	l.requests.Add(1)
	if err == nil {
		size := 0
		for _, message := range a.Messages {
			size += len(message)
		}
		l.bytes.Add(int64(size))
		l.appends.Add(1)
		l.nanoseconds.Add(int64(l.now().Sub(began)))
	}
	return appended, err //nolint:wrapcheck // as in Open
}

// Read implements Log.
func (l *meteredLog) Read(ctx context.Context, from engine.Offset, maxBytes int) (engine.Batch, error) {
	l.requests.Add(1)
	return l.Log.Read(ctx, from, maxBytes) //nolint:wrapcheck // as in Open
}

// take returns what was counted since the last time.
func (l *meteredLog) take() load.Sample {
	return load.Sample{
		Bytes: l.bytes.Swap(0), Requests: l.requests.Swap(0), Appends: l.appends.Swap(0), AppendTime: time.Duration(l.nanoseconds.Swap(0)),
	}
}

// Samples returns what clients did with each open stream since the last call, by namespace/name.
func (r *Reconciler) Samples() map[string]load.Sample {
	r.host.mu.Lock()
	defer r.host.mu.Unlock()
	samples := map[string]load.Sample{}
	for key, e := range r.host.entries {
		if log, metered := e.log.(*meteredLog); metered {
			samples[key.String()] = log.take()
		}
	}
	return samples
}
