package tracing

import (
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// FromHeader returns the span that a request belongs to, by its headers traceparent and tracestate (W3C Trace Context); not valid
// where it names none, or where nothing is recorded.
func (t *Tracer) FromHeader(header http.Header) trace.SpanContext {
	if t == nil {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(nobodys, propagation.HeaderCarrier(header))
	return trace.SpanContextFromContext(ctx)
}

// ToHeader says in the headers of a request which span it belongs to. One that is not valid changes nothing.
func ToHeader(header http.Header, span trace.SpanContext) {
	if span.IsValid() {
		propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(nobodys, span), propagation.HeaderCarrier(header))
	}
}

// Child returns the identity of a new span below parent, or of one that begins a trace where parent is not valid: for spans that
// others must know of before they are over. It is not valid where nothing is recorded.
func (t *Tracer) Child(parent trace.SpanContext) trace.SpanContext {
	if t == nil {
		return trace.SpanContext{}
	}
	ids := trace.SpanContextConfig{TraceID: parent.TraceID(), SpanID: newSpanID(), TraceFlags: parent.TraceFlags(), TraceState: parent.TraceState()}
	if !parent.IsValid() {
		ids.TraceID = newTraceID()
		if t.samples(ids.TraceID) {
			ids.TraceFlags = trace.FlagsSampled
		}
	}
	return trace.NewSpanContext(ids)
}
