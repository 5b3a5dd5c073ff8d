package tracing

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.37.0"
	"go.opentelemetry.io/otel/trace"
)

// Tracer records spans. A nil one records nothing.
type Tracer struct {
	tracer   trace.Tracer
	sampler  sdk.Sampler
	provider *sdk.TracerProvider
}

// scope is what spans are said to come from.
const scope = "github.com/streamshift/streamshift"

// Service is the process that records spans.
type Service struct {
	// Name is streamshift-manager, streamshift-node or streamshift-gateway; Instance tells one process of them from others.
	Name, Instance string
}

// FromEnvironment returns the tracer that the standard variables (OTEL_*) ask for: one that sends spans to a collector by OTLP over
// HTTP, or nil where they name no collector. env reads a variable. What it does not do it refuses, rather than send nothing.
func FromEnvironment(ctx context.Context, service Service, env func(string) string) (*Tracer, error) {
	if !wanted(env) {
		return nil, nil //nolint:nilnil // a nil tracer is one that records nothing
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if protocol := env(name); protocol != "" && protocol != "http/protobuf" {
			return nil, fmt.Errorf("reading %s: spans are sent by http/protobuf only, not by %q", name, protocol)
		}
	}
	if exporter := env("OTEL_TRACES_EXPORTER"); exporter != "" && exporter != "otlp" {
		return nil, fmt.Errorf("reading OTEL_TRACES_EXPORTER: spans are sent by otlp only, not by %q", exporter)
	}
	sampler, err := samplerOf(env)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx) // reads the variables of the exporter itself
	if err != nil {
		return nil, fmt.Errorf("making the exporter of spans: %w", err)
	}
	return New(service, sampler, sdk.NewBatchSpanProcessor(exporter)) //nolint:contextcheck // spans are sent until End, which is later
}

// wanted tells whether the environment names a collector, or asks for the exporter with its default one.
func wanted(env func(string) string) bool {
	if env("OTEL_SDK_DISABLED") == "true" || env("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return env("OTEL_TRACES_EXPORTER") != "" || env("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// New returns a tracer that hands sampled spans to a processor.
func New(service Service, sampler sdk.Sampler, processor sdk.SpanProcessor) (*Tracer, error) {
	// OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES win.
	described, err := resource.New(nobodys,
		resource.WithAttributes(semconv.ServiceName(service.Name), semconv.ServiceInstanceID(service.Instance)), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("describing the service: %w", err)
	}
	provider := sdk.NewTracerProvider(sdk.WithResource(described), sdk.WithSampler(sampler),
		sdk.WithIDGenerator(generator{}), sdk.WithSpanProcessor(processor))
	return &Tracer{tracer: provider.Tracer(scope), sampler: sampler, provider: provider}, nil
}

// samples tells whether a trace with this id is sampled, where this process, or any other with the same variables, begins it.
func (t *Tracer) samples(id trace.TraceID) bool {
	result := t.sampler.ShouldSample(sdk.SamplingParameters{ParentContext: nobodys, TraceID: id})
	return result.Decision == sdk.RecordAndSample
}

// endTimeout bounds how long the last spans may take to be sent.
const endTimeout = 5 * time.Second

// End sends what is recorded and not sent yet. A collector that does not answer holds it up for endTimeout at most.
func (t *Tracer) End() error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(nobodys, endTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("sending the last spans: %w", err)
	}
	return nil
}
