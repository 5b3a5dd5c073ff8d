package tracing

import (
	"encoding/binary"
	"fmt"
	"strconv"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// samplerOf reads the sampler of the standard variables; always, below a parent that is sampled, where none is named.
func samplerOf(env func(string) string) (sdk.Sampler, error) {
	name, argument := env("OTEL_TRACES_SAMPLER"), env("OTEL_TRACES_SAMPLER_ARG")
	ratio := 1.0
	if argument != "" {
		var err error
		if ratio, err = strconv.ParseFloat(argument, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
			return nil, fmt.Errorf("reading OTEL_TRACES_SAMPLER_ARG: %q is no number from 0 to 1", argument)
		}
	}
	switch name {
	case "", "parentbased_always_on":
		return sdk.ParentBased(sdk.AlwaysSample()), nil
	case "parentbased_always_off":
		return sdk.ParentBased(sdk.NeverSample()), nil
	case "parentbased_traceidratio":
		return sdk.ParentBased(share(ratio)), nil
	case "always_on":
		return sdk.AlwaysSample(), nil
	case "always_off":
		return sdk.NeverSample(), nil
	case "traceidratio":
		return share(ratio), nil
	}
	return nil, fmt.Errorf("reading OTEL_TRACES_SAMPLER: %q is none of the samplers always_on, always_off and traceidratio, "+
		"or one of them behind parentbased_", name)
}

// share samples this share of all traces, by the last 7 bytes of a trace's id: those that W3C Trace Context wants to be random. The
// SDK's own sampler looks at the last 8, of which the first two bits are the same in every UID.
type share float64

// randomBits is how many bits of a trace's id are taken for random.
const randomBits = 56

// ShouldSample implements the SDK's Sampler.
func (s share) ShouldSample(p sdk.SamplingParameters) sdk.SamplingResult {
	random := binary.BigEndian.Uint64(p.TraceID[8:]) & (1<<randomBits - 1)
	decision := sdk.Drop
	if float64(random) < float64(s)*(1<<randomBits) {
		decision = sdk.RecordAndSample
	}
	return sdk.SamplingResult{Decision: decision, Tracestate: trace.SpanContextFromContext(p.ParentContext).TraceState()}
}

// Description implements the SDK's Sampler.
func (s share) Description() string { return fmt.Sprintf("share{%g}", float64(s)) }
