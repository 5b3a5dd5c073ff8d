package tracing_test

import (
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/streamshift/streamshift/internal/tracing"
)

const uid = "0c3a4a4e-7d0b-4d6b-9f51-0a4c9f0d2b11"

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func newTracer(t *testing.T, sampler sdk.Sampler) (*tracing.Tracer, *tracetest.InMemoryExporter) {
	t.Helper()
	exporter := tracetest.NewInMemoryExporter()
	tracer, err := tracing.New(tracing.Service{Name: "test", Instance: "1"}, sampler, sdk.NewSimpleSpanProcessor(exporter))
	if err != nil {
		t.Fatal(err)
	}
	return tracer, exporter
}

func TestPartsOfATransferAreTheSameForEverybody(t *testing.T) {
	source, ofSource := newTracer(t, sdk.AlwaysSample())
	manager, ofManager := newTracer(t, sdk.AlwaysSample())
	source.Record(tracing.Span{
		Name: "transfer at source", Parent: source.Part(uid, tracing.Whole), Itself: source.Part(uid, tracing.AtSource), Begun: noon, Ended: noon.Add(time.Second),
	})
	manager.Record(tracing.Span{Name: "transfer", Itself: manager.Part(uid, tracing.Whole), Begun: noon.Add(-time.Second), Ended: noon.Add(2 * time.Second)})
	child, root := ofSource.GetSpans()[0], ofManager.GetSpans()[0]
	if got, want := root.SpanContext.TraceID().String(), "0c3a4a4e7d0b4d6b9f510a4c9f0d2b11"; got != want {
		t.Errorf("the trace is %s, want the transfer's UID %s", got, want)
	}
	if root.Parent.IsValid() {
		t.Errorf("the root has the parent %v", root.Parent)
	}
	if child.SpanContext.TraceID() != root.SpanContext.TraceID() || child.Parent.SpanID() != root.SpanContext.SpanID() {
		t.Errorf("%v is not below %v", child.Parent, root.SpanContext)
	}
	if child.SpanContext.SpanID() == root.SpanContext.SpanID() {
		t.Error("two parts have one id")
	}
	if got := child.EndTime.Sub(child.StartTime); got != time.Second {
		t.Errorf("it took %s, want 1s", got)
	}
}

func TestASpanDoesNotEndBeforeItBegins(t *testing.T) {
	tracer, exporter := newTracer(t, sdk.AlwaysSample())
	tracer.Record(tracing.Span{Name: "open", Begun: noon, Ended: noon.Add(-time.Second), Failure: "no"})
	span := exporter.GetSpans()[0]
	if !span.EndTime.Equal(noon) || span.Status.Description != "no" {
		t.Errorf("it ends at %s with %q, want %s and its failure", span.EndTime, span.Status.Description, noon)
	}
}

func TestNoPartOfWhatIsNoUID(t *testing.T) {
	tracer, _ := newTracer(t, sdk.AlwaysSample())
	for _, wrong := range []string{"", "uid", uid + "0", "0c3a4a4e-7d0b-4d6b-9f51-0a4c9f0d2b1g"} {
		if tracer.Part(wrong, tracing.Whole).IsValid() {
			t.Errorf("%q gives a span", wrong)
		}
	}
}

func TestNothingIsRecordedWithoutATracer(t *testing.T) {
	var none *tracing.Tracer
	none.Record(tracing.Span{Name: "open"})
	header := http.Header{"Traceparent": {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}}
	if none.Part(uid, tracing.Whole).IsValid() || none.FromHeader(header).IsValid() || none.Child(trace.SpanContext{}).IsValid() {
		t.Error("a tracer that is none names spans")
	}
	if err := none.End(); err != nil {
		t.Error(err)
	}
}

func TestAShareOfTransfersIsSampledByAllAlike(t *testing.T) {
	env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.25"}
	tracer, err := tracing.FromEnvironment(t.Context(), tracing.Service{Name: "a"}, func(name string) string { return env[name] })
	if err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), byte(seed >> 16)}))
	const transfers = 4000
	sampled := 0
	for range transfers {
		var bytes [16]byte
		for i := range bytes {
			bytes[i] = byte(random.Uint32())
		}
		bytes[6], bytes[8] = bytes[6]&0x0f|0x40, bytes[8]&0x3f|0x80 // as every UID has them
		id := uuid.UUID(bytes).String()
		whole, part := tracer.Part(id, tracing.Whole), tracer.Part(id, tracing.AtTarget)
		if whole.IsSampled() != part.IsSampled() {
			t.Fatalf("parts of %s disagree", id)
		}
		if whole.IsSampled() {
			sampled++
		}
	}
	if sampled < transfers/5 || sampled > transfers*3/10 { // 7 standard deviations
		t.Errorf("%d of %d are sampled, want about a quarter", sampled, transfers)
	}
}

func TestRequestsStayInTheirClientsTrace(t *testing.T) {
	tracer, exporter := newTracer(t, sdk.ParentBased(sdk.AlwaysSample()))
	header := http.Header{}
	header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	parent := tracer.FromHeader(header)
	itself := tracer.Child(parent)
	tracing.ToHeader(header, itself)
	if got, want := header.Get("traceparent"), "00-0af7651916cd43dd8448eb211c80319c-"+itself.SpanID().String()+"-01"; got != want {
		t.Errorf("the next one is told %s, want %s", got, want)
	}
	tracer.Record(tracing.Span{Name: "request held", Parent: parent, Itself: itself, Link: tracer.Part(uid, tracing.Whole), Begun: noon, Ended: noon})
	span := exporter.GetSpans()[0]
	if span.Parent.SpanID().String() != "b7ad6b7169203331" || span.SpanContext.SpanID() != itself.SpanID() {
		t.Errorf("%v below %v", span.SpanContext, span.Parent)
	}
	link := span.Links[0].SpanContext.TraceID()
	if hex.EncodeToString(link[:]) != "0c3a4a4e7d0b4d6b9f510a4c9f0d2b11" {
		t.Errorf("it is linked to %s", link)
	}
	header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
	parent = tracer.FromHeader(header)
	tracer.Record(tracing.Span{Name: "request held", Parent: parent, Begun: noon, Ended: noon})
	if len(exporter.GetSpans()) != 1 {
		t.Error("a request that its client does not sample is recorded")
	}
}

func TestTheEnvironmentSaysWhetherSpansAreSent(t *testing.T) {
	tests := map[string]struct {
		env     map[string]string
		wantOn  bool
		wantErr string
	}{
		"nothing is set":                {},
		"a collector is named":          {env: map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, wantOn: true},
		"one for traces is named":       {env: map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/t"}, wantOn: true},
		"the exporter is named":         {env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, wantOn: true},
		"the exporter is none":          {env: map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}},
		"the SDK is off":                {env: map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}},
		"gRPC is not spoken":            {env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, wantErr: `reading OTEL_EXPORTER_OTLP_PROTOCOL: spans are sent by http/protobuf only, not by "grpc"`},
		"another exporter is not there": {env: map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, wantErr: `reading OTEL_TRACES_EXPORTER: spans are sent by otlp only, not by "zipkin"`},
		"a share is one at most": {env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_TRACES_SAMPLER": "traceidratio", "OTEL_TRACES_SAMPLER_ARG": "1.1"},
			wantErr: `reading OTEL_TRACES_SAMPLER_ARG: "1.1" is no number from 0 to 1`},
		"a sampler must be known": {env: map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_TRACES_SAMPLER": "jaeger_remote"},
			wantErr: `reading OTEL_TRACES_SAMPLER: "jaeger_remote" is none of the samplers always_on, always_off and traceidratio, or one of them behind parentbased_`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tracer, err := tracing.FromEnvironment(t.Context(), tracing.Service{Name: "a"}, func(name string) string { return test.env[name] })
			told := ""
			if err != nil {
				told = err.Error()
			}
			if diff := cmp.Diff(test.wantErr, told); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if (tracer != nil) != test.wantOn {
				t.Errorf("on is %t, want %t", tracer != nil, test.wantOn)
			}
		})
	}
}
