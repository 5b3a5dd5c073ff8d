package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/handoff"
)

// rateWriters patch at the same time where the rate of patches is measured: more do not make it higher on this kind of machine.
const rateWriters = 64

// rates tells how many status patches a second the API server takes, while nobody watches: each writer patches an object of its own,
// with a test of what it changes.
type rates struct {
	writer  client.Client
	objects []*unstructured.Unstructured
	// counter is the member of the status that is counted up, and count how far each object's is.
	counter string
	count   []int64
}

// newRates makes the objects. Prepare gives one its first status.
func newRates(
	ctx context.Context, writer client.Client, prototype *unstructured.Unstructured, counter string,
	prepare func(context.Context, *unstructured.Unstructured) error,
) (*rates, error) {
	r := &rates{writer: writer, counter: counter, count: make([]int64, rateWriters)}
	for i := range r.count {
		object := prototype.DeepCopy()
		object.SetName(fmt.Sprintf("rate-%d", i))
		err := createOnceServed(ctx, writer, object)
		if err == nil {
			err = prepare(ctx, object)
		}
		if err != nil {
			return nil, fmt.Errorf("preparing the rate of patches: %w", err)
		}
		if r.count[i], _, err = unstructured.NestedInt64(object.Object, "status", counter); err != nil {
			return nil, fmt.Errorf("preparing the rate of patches: %w", err)
		}
		r.objects = append(r.objects, object)
	}
	return r, nil
}

// newPlainRates are those of the floor's kind, without schema and rules.
func newPlainRates(ctx context.Context, writer client.Client) (*rates, error) {
	if err := writer.Create(ctx, floorDefinition()); err != nil {
		return nil, fmt.Errorf("creating the floor's kind: %w", err)
	}
	first := client.RawPatch(types.MergePatchType, []byte(`{"status":{"count":0}}`))
	return newRates(ctx, writer, floorObject(), "count", func(ctx context.Context, object *unstructured.Unstructured) error {
		return writer.Status().Patch(ctx, object, first) //nolint:wrapcheck // the caller says what it was doing
	})
}

// newRegisterRates are those of a kind with the schema and the rules of a Stream, and of objects like a stream that was transferred.
func newRegisterRates(ctx context.Context, writer client.Client) (*rates, error) {
	streams := &apiextensionsv1.CustomResourceDefinition{}
	if err := writer.Get(ctx, client.ObjectKey{Name: "streams." + v1alpha1.GroupVersion.Group}, streams); err != nil {
		return nil, fmt.Errorf("reading the definition of streams: %w", err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "registers." + floorGroup}, Spec: streams.Spec}
	definition.Spec.Group = floorGroup
	definition.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Kind: "Register", Plural: "registers"}
	if err := writer.Create(ctx, definition); err != nil {
		return nil, fmt.Errorf("creating a kind like streams: %w", err)
	}
	prototype := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": floorGroup + "/" + definition.Spec.Versions[0].Name, "kind": "Register", "metadata": map[string]any{"namespace": namespace},
	}}
	return newRates(ctx, writer, prototype, "observedGeneration", func(ctx context.Context, object *unstructured.Unstructured) error {
		return transferOnce(ctx, writer, object)
	})
}

// transferOnce takes the steps of a register from its placement to its first transfer.
func transferOnce(ctx context.Context, writer client.Client, object *unstructured.Unstructured) error {
	now := metav1.NowMicro()
	opened := func(s *v1alpha1.Stream) handoff.Step { return handoff.Opened(s, now, &v1alpha1.OpenedLog{Segment: 1}) }
	for _, step := range []func(*v1alpha1.Stream) handoff.Step{
		func(s *v1alpha1.Stream) handoff.Step { return handoff.Place(s, "node-a", now) },
		opened,
		func(s *v1alpha1.Stream) handoff.Step {
			return handoff.Accept(s, &v1alpha1.StreamTransfer{
				ObjectMeta: metav1.ObjectMeta{Name: s.Name + "-drain-1", UID: s.UID}, Spec: v1alpha1.StreamTransferSpec{Target: "node-b"},
			}, now)
		},
		func(s *v1alpha1.Stream) handoff.Step {
			return handoff.CompleteTransfer(s, handoff.Closing{Tail: 2, StoppedAt: &now, ClosedAt: &now}, now)
		},
		opened,
	} {
		stream := &v1alpha1.Stream{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, stream); err != nil {
			return fmt.Errorf("reading a register: %w", err)
		}
		if err := writer.Status().Patch(ctx, object, client.RawPatch(types.JSONPatchType, step(stream).Patch)); err != nil {
			return fmt.Errorf("taking a step: %w", err)
		}
	}
	return nil
}

// drainFloor is what drains are measured beside.
type drainFloor struct {
	plain, registers *rates
}

func newDrainFloor(ctx context.Context, writer client.Client) (*drainFloor, error) {
	plain, err := newPlainRates(ctx, writer)
	if err != nil {
		return nil, err
	}
	registers, err := newRegisterRates(ctx, writer)
	return &drainFloor{plain, registers}, err
}

// measure returns how many patches a second are taken.
func (r *rates) measure(ctx context.Context, during time.Duration) (float64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var done atomic.Int64
	var writers sync.WaitGroup
	began := time.Now()
	for i := range r.objects {
		writers.Go(func() {
			for time.Since(began) < during && ctx.Err() == nil {
				if err := r.patch(ctx, i); err != nil {
					cancel(fmt.Errorf("measuring the rate of patches: %w", err))
					return
				}
				done.Add(1)
			}
		})
	}
	writers.Wait()
	took := time.Since(began)
	return float64(done.Load()) / took.Seconds(), context.Cause(ctx)
}

// patch counts one up.
func (r *rates) patch(ctx context.Context, i int) error {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/status/" + r.counter, "value": r.count[i]},
		{"op": "replace", "path": "/status/" + r.counter, "value": r.count[i] + 1},
	})
	if err != nil {
		return fmt.Errorf("encoding the patch: %w", err)
	}
	if err := r.writer.Status().Patch(ctx, r.objects[i], client.RawPatch(types.JSONPatchType, patch)); err != nil {
		return err //nolint:wrapcheck // the caller says what it was doing
	}
	r.count[i]++
	return nil
}
