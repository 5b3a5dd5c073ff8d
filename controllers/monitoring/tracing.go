package monitoring

import (
	"context"
	"fmt"
	"os"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"

	"github.com/streamshift/streamshift/internal/tracing"
)

// Tracer returns the tracer that the environment of this process asks for, nil where it asks for none, and what sends the last spans
// at the end. Instance tells this process from others of the same component; empty: the host does.
func Tracer(ctx context.Context, component, instance string, log logr.Logger) (tracer *tracing.Tracer, end func(), err error) {
	if instance == "" {
		if instance, err = os.Hostname(); err != nil {
			return nil, nil, fmt.Errorf("asking for the name of this host: %w", err)
		}
	}
	tracer, err = tracing.FromEnvironment(ctx, tracing.Service{Name: component, Instance: instance}, os.Getenv)
	if err != nil {
		return nil, nil, err
	}
	if tracer != nil {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Error(err, "Cannot send spans") }))
		log.Info("Recording spans")
	}
	return tracer, func() { //nolint:contextcheck // it is called when the context has ended
		if err := tracer.End(); err != nil {
			log.Error(err, "Cannot send the last spans")
		}
	}, nil
}
