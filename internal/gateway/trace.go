package gateway

import (
	"net/http"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/routing"
	"github.com/streamshift/streamshift/internal/tracing"
)

// held is a request on its way that a transfer, or something else, keeps from being answered at once. The zero value is one that
// nothing does.
type held struct {
	begun time.Time
	// itself is the span of the wait; not valid as long as there is none. Nodes are told of it, and record theirs below.
	parent, itself trace.SpanContext
	// transfer is the UID of the transfer that it met; empty: none is known.
	transfer string
}

// beginHeld begins anew: each node that is found for an event stream is a wait of its own.
func (x *exchange) beginHeld() {
	if x.g.cfg.Tracer != nil {
		x.held = held{begun: x.g.cfg.Now()}
	}
}

// noteHeld looks whether the request is held: a transfer is under way, it was sent on, or it waits.
func (x *exchange) noteHeld(s sight) {
	if x.g.cfg.Tracer == nil {
		return
	}
	x.held.meets(s.transfer)
	waits := s.target.hint.Role == routing.RoleTarget || s.transfer != "" || x.hops > 0 || x.leave != nil || s.target.address == ""
	if waits && !x.held.itself.IsValid() {
		x.held.parent = x.g.cfg.Tracer.FromHeader(x.r.Header)
		x.held.itself = x.g.cfg.Tracer.Child(x.held.parent)
	}
}

// meets notes the UID of a transfer that the request met, as the table or a node tells it; empty: of none. The table may hear of a
// transfer after the source does, or not before it is complete.
func (h *held) meets(transfer string) {
	if transfer != "" {
		h.transfer = transfer
	}
}

// name tells the node that is asked of the span, in place of the one that the client named.
func (h *held) name(header http.Header) { tracing.ToHeader(header, h.itself) }

// endHeld records the wait, if there was one.
func (x *exchange) endHeld(p *durablestreams.Problem) {
	if !x.held.itself.IsValid() {
		return
	}
	span := tracing.Span{
		Name: "request held", Parent: x.held.parent, Itself: x.held.itself, Link: x.g.cfg.Tracer.Part(x.held.transfer, tracing.Whole),
		Begun: x.held.begun, Ended: x.g.cfg.Now(),
		Attributes: []tracing.Attribute{tracing.AttributeStream.String(x.stream.String()), tracing.AttributeResult.String("answered")},
	}
	if p != nil {
		span.Attributes[1], span.Failure = tracing.AttributeResult.String("refused"), http.StatusText(p.Status)
	}
	x.g.cfg.Tracer.Record(span)
}
