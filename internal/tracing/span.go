package tracing

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// Span is one that is over.
type Span struct {
	// Name is one of a few: what was done, never to what.
	Name string
	// Parent is the span that this one is part of; the zero value: none, it begins a trace.
	Parent trace.SpanContext
	// Itself has the ids of the span, where others had to know them before; the zero value: new ones.
	Itself trace.SpanContext
	// Link is a span of another trace that this one has to do with; the zero value: none.
	Link trace.SpanContext
	// Begun and Ended are its times. A span that ends before it begins, as it may where two clocks are compared, ends where it begins.
	Begun, Ended time.Time
	// Attributes name things: streams, nodes, transfers, causes.
	Attributes []Attribute
	// Failure is why what was done failed; empty: it did not.
	Failure string
}

// Attribute is one of them with its value.
type Attribute = attribute.KeyValue

// The attributes that spans have.
const (
	AttributeStream   = attribute.Key("streamshift.stream") // namespace/name
	AttributeTransfer = attribute.Key("streamshift.transfer")
	AttributeSource   = attribute.Key("streamshift.source")
	AttributeTarget   = attribute.Key("streamshift.target")
	AttributeNode     = attribute.Key("streamshift.node")
	AttributeEpoch    = attribute.Key("streamshift.epoch")
	AttributeCause    = attribute.Key("streamshift.cause")
	AttributePhase    = attribute.Key("streamshift.phase")
	AttributeReason   = attribute.Key("streamshift.reason")
	AttributeResult   = attribute.Key("streamshift.result")
)

// Record records spans.
func (t *Tracer) Record(spans ...Span) {
	if t == nil {
		return
	}
	for i := range spans {
		t.record(&spans[i])
	}
}

// nobodys is the context of no call: spans are recorded when what they tell of is over, and end with nobody's request.
var nobodys = context.Background()

func (t *Tracer) record(s *Span) {
	ctx := withIDs(nobodys, s.Itself)
	options := []trace.SpanStartOption{trace.WithTimestamp(s.Begun), trace.WithAttributes(s.Attributes...)}
	if s.Parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, s.Parent)
	}
	if s.Link.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: s.Link}))
	}
	_, span := t.tracer.Start(ctx, s.Name, options...)
	if s.Failure != "" {
		span.SetStatus(codes.Error, s.Failure)
	}
	ended := s.Ended
	if ended.Before(s.Begun) {
		ended = s.Begun
	}
	span.End(trace.WithTimestamp(ended))
}
