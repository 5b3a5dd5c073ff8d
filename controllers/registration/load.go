package registration

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/load"
)

// loadOwner is the field manager of the load in a node's status.
const loadOwner = client.FieldOwner("streamshift-node-load")

// LoadReporter tells in the node's status what its streams do, where that has changed much.
type LoadReporter struct {
	// Client writes to the API server.
	Client client.Client
	// Node is the node's name.
	Node string
	// Samples returns what was done with each stream since the last call.
	Samples func() map[string]load.Sample
	// LookEvery is how often samples are taken, TellEvery how often the status is written at most.
	LookEvery, TellEvery time.Duration
	Now                  func() time.Time
	Log                  logr.Logger

	meter    *load.Meter
	lookedAt time.Time
	told     load.Report
	toldAt   time.Time
}

// Start implements manager.Runnable. What an earlier process of the node told is replaced with the first look.
func (r *LoadReporter) Start(ctx context.Context) error {
	r.meter, r.lookedAt = load.NewMeter(), r.Now()
	looks := time.NewTicker(r.LookEvery)
	defer looks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-looks.C:
			if err := r.look(ctx); err != nil && ctx.Err() == nil {
				r.Log.Error(err, "Cannot report the node's load")
			}
		}
	}
}

func (r *LoadReporter) look(ctx context.Context) error {
	now := r.Now()
	r.meter.Observe(r.Samples(), now.Sub(r.lookedAt))
	r.lookedAt = now
	report := r.meter.Report()
	first := r.toldAt.IsZero()
	if !first && (now.Sub(r.toldAt) < r.TellEvery || !load.Significant(&r.told, &report)) {
		return nil
	}
	err := r.tell(ctx, &report)
	if apierrors.IsNotFound(err) {
		return nil // not registered yet
	}
	if err != nil {
		return fmt.Errorf("writing the load of node %s: %w", r.Node, err)
	}
	r.told, r.toldAt = report, now
	return nil
}

func (r *LoadReporter) tell(ctx context.Context, report *load.Report) error {
	status := map[string]any{}
	if loaded := nodeLoad(report); loaded != nil {
		encoded, err := runtime.DefaultUnstructuredConverter.ToUnstructured(loaded)
		if err != nil {
			return fmt.Errorf("encoding the load: %w", err)
		}
		status["load"] = encoded
	}
	apply := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "StreamNode", "metadata": map[string]any{"name": r.Node}, "status": status,
	}}
	return r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(apply), loadOwner, client.ForceOwnership) //nolint:wrapcheck // by its caller
}

// nodeLoad returns nil where the node's streams do nothing.
func nodeLoad(report *load.Report) *v1alpha1.NodeLoad {
	if report.Bytes == 0 && report.Requests == 0 {
		return nil
	}
	loaded := &v1alpha1.NodeLoad{
		BytesPerSecond: report.Bytes, RequestsPerSecond: report.Requests, AppendMicros: report.AppendTime.Microseconds(),
	}
	for _, s := range report.Streams {
		loaded.Streams = append(loaded.Streams, v1alpha1.StreamLoad{Stream: s.Stream, BytesPerSecond: s.Bytes, RequestsPerSecond: s.Requests})
	}
	return loaded
}
