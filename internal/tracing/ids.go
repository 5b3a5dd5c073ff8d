package tracing

import (
	"context"
	"crypto/rand"

	"go.opentelemetry.io/otel/trace"
)

// idsKey is the key of a span's ids in a context.
type idsKey struct{}

func withIDs(ctx context.Context, ids trace.SpanContext) context.Context {
	if !ids.IsValid() {
		return ctx
	}
	return context.WithValue(ctx, idsKey{}, ids)
}

// generator gives spans the ids that their context names, and others new ones.
type generator struct{}

// NewIDs implements the SDK's IDGenerator: for a span without parent.
func (generator) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if ids, named := ctx.Value(idsKey{}).(trace.SpanContext); named {
		return ids.TraceID(), ids.SpanID()
	}
	return newTraceID(), newSpanID()
}

// NewSpanID implements the SDK's IDGenerator: for a span with a parent.
func (generator) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if ids, named := ctx.Value(idsKey{}).(trace.SpanContext); named {
		return ids.SpanID()
	}
	return newSpanID()
}

func newTraceID() (id trace.TraceID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}

func newSpanID() (id trace.SpanID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}
