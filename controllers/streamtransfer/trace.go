package streamtransfer

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/tracing"
)

// traceStep records a step of the manager's own that was just taken.
func (r *Reconciler) traceStep(transfer *v1alpha1.StreamTransfer, name string, begun time.Time) {
	if r.Tracer == nil {
		return
	}
	r.Tracer.Record(tracing.Span{Name: name, Parent: r.Tracer.Part(string(transfer.UID), tracing.Whole), Begun: begun, Ended: r.Now()})
}

// traceEnded records the transfer as a whole, which has just ended: from its creation, which the API server keeps to the second,
// and what of it the manager saw.
func (r *Reconciler) traceEnded(transfer *v1alpha1.StreamTransfer, reason string) {
	if r.Tracer == nil {
		return
	}
	status, now := &transfer.Status, r.Now()
	whole := r.Tracer.Part(string(transfer.UID), tracing.Whole)
	created := transfer.CreationTimestamp.Time
	if at := status.AcceptedAt; at != nil && at.Time.Before(created) {
		created = at.Time // by another clock
	}
	span := tracing.Span{
		Name: string(tracing.Whole), Itself: whole, Begun: created, Ended: now,
		Attributes: []tracing.Attribute{
			tracing.AttributeStream.String(transfer.Namespace + "/" + transfer.Spec.Stream),
			tracing.AttributeTransfer.String(transfer.Name),
			tracing.AttributeSource.String(status.Source), tracing.AttributeTarget.String(transfer.Spec.Target),
			tracing.AttributeEpoch.Int64(status.Epoch), tracing.AttributeCause.String(cause(transfer)),
			tracing.AttributePhase.String(string(status.Phase)), tracing.AttributeReason.String(reason),
		},
	}
	if status.Phase == v1alpha1.TransferFailed {
		span.Failure = reason
	}
	spans := []tracing.Span{span}
	part := func(name string, begun, ended *metav1.MicroTime) {
		if begun != nil && ended != nil {
			spans = append(spans, tracing.Span{Name: name, Parent: whole, Begun: begun.Time, Ended: ended.Time})
		}
	}
	recorded := metav1.NewMicroTime(now)
	part("queue", &metav1.MicroTime{Time: created}, status.AcceptedAt)
	part("settle", status.OpenedAt, &recorded)
	r.Tracer.Record(spans...)
}
