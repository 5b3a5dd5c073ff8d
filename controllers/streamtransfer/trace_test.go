package streamtransfer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/tracing"
)

func TestTheSpansOfATransferThatEnded(t *testing.T) {
	created := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	at := func(milliseconds int) *metav1.MicroTime {
		moment := metav1.NewMicroTime(created.Add(time.Duration(milliseconds) * time.Millisecond))
		return &moment
	}
	// span is what is looked at of each: its times in milliseconds from the creation on.
	type span struct {
		Name         string
		Begun, Ended int64
		Root         bool
		Failure      string
	}
	tests := map[string]struct {
		status v1alpha1.StreamTransferStatus
		want   []span
	}{
		"one that succeeded": {
			v1alpha1.StreamTransferStatus{Phase: v1alpha1.TransferSucceeded, AcceptedAt: at(10), OpenedAt: at(40)},
			[]span{{"transfer", 0, 50, true, ""}, {"queue", 0, 10, false, ""}, {"settle", 40, 50, false, ""}},
		},
		"one that was never accepted": {
			v1alpha1.StreamTransferStatus{Phase: v1alpha1.TransferFailed}, []span{{"transfer", 0, 50, true, "TargetFull"}},
		},
		"one that was accepted before it was made, by another clock": {
			v1alpha1.StreamTransferStatus{Phase: v1alpha1.TransferCancelled, AcceptedAt: at(-5)},
			[]span{{"transfer", -5, 50, true, ""}, {"queue", -5, -5, false, ""}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			exporter := tracetest.NewInMemoryExporter()
			tracer, err := tracing.New(tracing.Service{Name: "manager"}, sdk.AlwaysSample(), sdk.NewSimpleSpanProcessor(exporter))
			if err != nil {
				t.Fatal(err)
			}
			r := &Reconciler{Tracer: tracer, Now: func() time.Time { return at(50).Time }}
			r.traceEnded(&v1alpha1.StreamTransfer{
				ObjectMeta: metav1.ObjectMeta{Name: "t", UID: "0c3a4a4e-7d0b-4d6b-9f51-0a4c9f0d2b11", CreationTimestamp: metav1.NewTime(created)},
				Status:     test.status,
			}, "TargetFull")
			var got []span
			for _, s := range exporter.GetSpans() {
				got = append(got, span{
					s.Name, s.StartTime.Sub(created).Milliseconds(), s.EndTime.Sub(created).Milliseconds(), !s.Parent.IsValid(), s.Status.Description,
				})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
		})
	}
}
