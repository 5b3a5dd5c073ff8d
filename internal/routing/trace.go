package routing

import (
	"time"

	"github.com/streamshift/streamshift/internal/tracing"
)

// waitsFor returns the UID of the transfer for which a request waits; empty where it waits for something else.
func waitsFor(s Situation) string {
	if s.Pending != nil {
		return s.Pending.UID
	}
	return s.Arrived
}

// traceParked records that a request waited here: below the span that its sender named, linked to the transfer.
func (n *Node) traceParked(q *request, begun time.Time, result string) {
	if n.cfg.Tracer == nil {
		return
	}
	n.cfg.Tracer.Record(tracing.Span{
		Name: "request parked", Parent: n.cfg.Tracer.FromHeader(q.r.Header), Link: n.cfg.Tracer.Part(q.transfer, tracing.AtTarget),
		Begun: begun, Ended: n.cfg.Now(),
		Attributes: []tracing.Attribute{
			tracing.AttributeStream.String(q.stream.String()), tracing.AttributeNode.String(n.cfg.Node), tracing.AttributeResult.String(result),
		},
	})
}
