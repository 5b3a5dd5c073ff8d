package session

import (
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/handoff"
	"github.com/streamshift/streamshift/internal/tracing"
)

// What a node did is recorded when it is over, from what it knows by then; no decision depends on it.

// arrivedBy returns the UID of the transfer that made a node the owner at the register's epoch; empty where it was placed or
// reopened there.
func arrivedBy(register *v1alpha1.StreamStatus) string {
	if last := register.LastTransfer; last != nil && last.ClosedEpoch == register.Epoch-1 {
		return string(last.UID)
	}
	return ""
}

// traceClosed records how the session was closed for a transfer.
func (r *Reconciler) traceClosed(e *entry, closing engine.Closing, err error) {
	pending := e.stream.Status.PendingTransfer
	if r.Tracer == nil || pending == nil || err != nil {
		return
	}
	drain := r.Tracer.Child(r.Tracer.Part(string(pending.UID), tracing.AtSource))
	r.Tracer.Record(
		tracing.Span{Name: "flush", Parent: drain, Begun: closing.StoppedAt, Ended: closing.FlushedAt},
		tracing.Span{Name: "close", Parent: drain, Begun: closing.FlushedAt, Ended: closing.ClosedAt},
		tracing.Span{
			Name: "drain", Parent: r.Tracer.Part(string(pending.UID), tracing.AtSource), Itself: drain,
			Begun: closing.StoppedAt, Ended: closing.ClosedAt,
		},
	)
}

// traceCompleted records what this node did as the source of a transfer, whose completion was just written.
func (r *Reconciler) traceCompleted(v *view, closing handoff.Closing, proposed time.Time) {
	pending := v.stream.Status.PendingTransfer
	if r.Tracer == nil || pending == nil {
		return
	}
	begun, now := proposed, r.Now()
	if closing.StoppedAt != nil {
		begun = closing.StoppedAt.Time
	}
	source := r.Tracer.Part(string(pending.UID), tracing.AtSource)
	r.Tracer.Record(
		tracing.Span{Name: "complete", Parent: source, Begun: proposed, Ended: now},
		tracing.Span{
			Name: string(tracing.AtSource), Parent: r.Tracer.Part(string(pending.UID), tracing.Whole), Itself: source, Begun: begun, Ended: now,
			Attributes: r.about(v.stream),
		},
	)
}

// traceOpened records an attempt at opening the session: of a target, or of a source that resumes its own.
func (r *Reconciler) traceOpened(e *entry, opening Opening, now time.Time, err error) {
	if r.Tracer == nil {
		return
	}
	span := tracing.Span{Name: "open", Parent: r.Tracer.Part(arrivedBy(&e.stream.Status), tracing.AtTarget), Begun: e.openBegan, Ended: now}
	if opening.Resumes {
		span.Name, span.Parent = "resume", trace.SpanContext{}
		if pending := e.stream.Status.PendingTransfer; pending != nil {
			span.Parent = r.Tracer.Part(string(pending.UID), tracing.AtSource)
		}
	}
	if err != nil {
		span.Failure = "the session could not be opened"
	}
	if span.Parent.IsValid() {
		r.Tracer.Record(span)
	}
}

// traceRecorded records what this node did as the target of a transfer, whose opening was just written.
func (r *Reconciler) traceRecorded(v *view, proposed time.Time) {
	uid := arrivedBy(&v.stream.Status)
	if r.Tracer == nil || uid == "" {
		return
	}
	begun, now := v.openBegan, r.Now()
	if !v.placedAt.IsZero() && v.placedAt.Before(begun) {
		begun = v.placedAt
	}
	target := r.Tracer.Part(uid, tracing.AtTarget)
	r.Tracer.Record(
		tracing.Span{Name: "record", Parent: target, Begun: proposed, Ended: now},
		tracing.Span{
			Name: string(tracing.AtTarget), Parent: r.Tracer.Part(uid, tracing.Whole), Itself: target, Begun: begun, Ended: now, Attributes: r.about(v.stream),
		},
	)
}

// about says of what a span tells.
func (r *Reconciler) about(stream *v1alpha1.Stream) []tracing.Attribute {
	return []tracing.Attribute{
		tracing.AttributeNode.String(r.Node), tracing.AttributeStream.String(stream.Namespace + "/" + stream.Name),
		tracing.AttributeEpoch.Int64(stream.Status.Epoch),
	}
}
