package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rateWriters patch at the same time where the rate of patches is measured: more do not make it higher on this kind of machine.
const rateWriters = 64

// rate measures how many status patches a second the API server takes: each writer patches an object of its own, with a test.
func (f *floor) rate(ctx context.Context, during time.Duration) (float64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var done atomic.Int64
	var writers sync.WaitGroup
	objects := make([]*unstructured.Unstructured, rateWriters)
	for i := range objects {
		objects[i] = f.object.DeepCopy()
		objects[i].SetName(fmt.Sprintf("%s-%d-%d", floorName, i, time.Now().UnixNano()))
		objects[i].SetResourceVersion("")
		objects[i].SetUID("")
		delete(objects[i].Object, "status")
		if err := f.writer.Create(ctx, objects[i]); err != nil {
			return 0, fmt.Errorf("preparing the rate of patches: %w", err)
		}
		if err := f.writer.Status().Patch(ctx, objects[i], client.RawPatch(types.MergePatchType, []byte(`{"status":{"count":0}}`))); err != nil {
			return 0, fmt.Errorf("preparing the rate of patches: %w", err)
		}
	}
	began := time.Now()
	for _, object := range objects {
		writers.Go(func() {
			for count := int64(0); time.Since(began) < during && ctx.Err() == nil; count++ {
				if err := f.patch(ctx, object, count); err != nil {
					cancel(fmt.Errorf("measuring the rate of patches: %w", err))
					return
				}
				done.Add(1)
			}
		})
	}
	writers.Wait()
	took := time.Since(began)
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	for _, object := range objects {
		if err := f.writer.Delete(ctx, object); err != nil {
			return 0, fmt.Errorf("removing what the rate of patches was measured with: %w", err)
		}
	}
	return float64(done.Load()) / took.Seconds(), nil
}

// patch counts one up, and tests what it changes.
func (f *floor) patch(ctx context.Context, object *unstructured.Unstructured, count int64) error {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/status/count", "value": count},
		{"op": "replace", "path": "/status/count", "value": count + 1},
	})
	if err != nil {
		return fmt.Errorf("encoding the floor's patch: %w", err)
	}
	return f.writer.Status().Patch(ctx, object, client.RawPatch(types.JSONPatchType, patch)) //nolint:wrapcheck // the caller says what it was doing
}
