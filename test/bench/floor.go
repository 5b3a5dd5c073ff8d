package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/internal/engine/store"
)

const (
	floorGroup   = "bench.streamshift.io"
	floorVersion = "v1"
	floorKind    = "Floor"
	floorPlural  = "floors"
	floorName    = "floor"
	// objectBytes is about the size of a Stream with its status, and of an opening segment.
	objectBytes = 1024
	hopTimeout  = 30 * time.Second
)

// floor takes samples of what no handoff by register and object store can do without.
type floor struct {
	writer client.Client
	events <-chan watch.Event
	stop   func()
	object *unstructured.Unstructured
	count  int64

	store   store.Store
	objects int
}

// newFloor makes a kind of its own, without rules, and an object that only this program writes and watches.
func newFloor(ctx context.Context, config *rest.Config, writer client.Client, storeURL string) (*floor, error) {
	f := &floor{writer: writer}
	if err := writer.Create(ctx, floorDefinition()); err != nil {
		return nil, fmt.Errorf("creating the floor's kind: %w", err)
	}
	f.object = floorObject()
	f.object.SetName(floorName)
	var err error
	if f.store, err = store.Open(ctx, storeURL); err != nil {
		return nil, fmt.Errorf("opening the floor's store: %w", err)
	}
	if err := createOnceServed(ctx, writer, f.object); err != nil {
		return nil, fmt.Errorf("creating the floor's object: %w", err)
	}
	if err := f.watch(ctx, config); err != nil {
		return nil, err
	}
	// The first patch makes the status that the others test.
	status := client.RawPatch(types.MergePatchType, []byte(`{"status":{"count":0}}`))
	if err := writer.Status().Patch(ctx, f.object, status); err != nil {
		return nil, fmt.Errorf("preparing the floor's status: %w", err)
	}
	if err := f.await(ctx, 0); err != nil {
		return nil, err
	}
	return f, nil
}

// createOnceServed creates an object as soon as its kind is served.
func createOnceServed(ctx context.Context, writer client.Client, object client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, hopTimeout)
	defer cancel()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := writer.Create(ctx, object)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err //nolint:wrapcheck // the caller says what it was doing
		case <-ticker.C:
		}
	}
}

// watch opens the watch of another client, with a connection of its own.
func (f *floor) watch(ctx context.Context, config *rest.Config) error {
	config.Dial = (&net.Dialer{}).DialContext // keeps the connection from being shared
	watcher, err := client.NewWithWatch(config, client.Options{Scheme: f.writer.Scheme()})
	if err != nil {
		return fmt.Errorf("making the floor's other client: %w", err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(f.object.GroupVersionKind())
	stream, err := watcher.Watch(ctx, list)
	if err != nil {
		return fmt.Errorf("watching the floor's object: %w", err)
	}
	f.events, f.stop = stream.ResultChan(), stream.Stop
	return nil
}

// hop takes one sample: a JSON patch of the status that tests what it changes, until its event is at the other client.
func (f *floor) hop(ctx context.Context) (time.Duration, error) {
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/status/count", "value": f.count},
		{"op": "replace", "path": "/status/count", "value": f.count + 1},
	})
	if err != nil {
		return 0, fmt.Errorf("encoding the floor's patch: %w", err)
	}
	object := f.object.DeepCopy()
	failed := make(chan error, 1)
	began := time.Now()
	go func() { failed <- f.writer.Status().Patch(ctx, object, client.RawPatch(types.JSONPatchType, patch)) }()
	err = f.await(ctx, f.count+1)
	took := time.Since(began)
	if err := errors.Join(err, <-failed); err != nil {
		return 0, fmt.Errorf("measuring patch and watch: %w", err)
	}
	f.count++
	return took, nil
}

// await waits until the other client is told of the count.
func (f *floor) await(ctx context.Context, count int64) error {
	timer := time.NewTimer(hopTimeout)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return fmt.Errorf("no event for count %d within %v", count, hopTimeout)
		case event, open := <-f.events:
			if !open {
				return errors.New("the watch ended")
			}
			object, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				return fmt.Errorf("the watch tells of a %T", event.Object)
			}
			if seen, found, err := unstructured.NestedInt64(object.Object, "status", "count"); err == nil && found && seen == count {
				return nil
			}
		}
	}
}

// put takes one sample: an object created in the store, durable.
func (f *floor) put(ctx context.Context) (time.Duration, error) {
	f.objects++
	began := time.Now()
	if err := f.store.Create(ctx, fmt.Sprintf("floor/%d", f.objects), make([]byte, objectBytes)); err != nil {
		return 0, fmt.Errorf("measuring the store: %w", err)
	}
	return time.Since(began), nil
}

// floorObject is one of the floor's kind, without a name.
func floorObject() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": floorGroup + "/" + floorVersion,
		"kind":       floorKind,
		"spec":       map[string]any{"padding": strings.Repeat("x", objectBytes)},
	}}
}

func floorDefinition() *apiextensionsv1.CustomResourceDefinition {
	anything := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: floorPlural + "." + floorGroup},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: floorGroup,
			Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: floorKind, Plural: floorPlural},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name:         floorVersion,
				Served:       true,
				Storage:      true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: anything},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
			}},
		},
	}
}
