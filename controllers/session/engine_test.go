package session

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/engine/store"
)

func TestAnAgentWithAnotherStoreIsNotReady(t *testing.T) {
	objects, err := store.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	written, err := engine.Open(t.Context(), objects, engine.Config{Stream: "uid-1", Session: "x", Epoch: 1, Created: true})
	if err != nil {
		t.Fatal(err)
	}
	defer written.Abandon()
	held := Witness{"default/held", "uid-1", int64(written.Opened().Segment)}
	missing, gone := Witness{"default/missing", "uid-2", 1}, Witness{"default/gone", "uid-1", 9}
	unanswered := errors.New("the API server is away")
	for name, tt := range map[string]struct {
		witnesses []Witness
		err       error
		want      string
	}{
		"there are no streams":             {},
		"it has the log of the stream":     {witnesses: []Witness{held}},
		"it has one of the logs":           {witnesses: []Witness{missing, gone, held}},
		"it has the last one of many":      {witnesses: append(slices.Repeat([]Witness{missing}, 3*witnessesAtOnce), held)},
		"it has none of the logs":          {witnesses: []Witness{missing, gone}, want: "such as segment 1 of default/missing"},
		"it is not known which it must be": {err: unanswered, want: unanswered.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			e := &StoreEngine{Store: objects, Witnesses: func(context.Context) ([]Witness, error) { return tt.witnesses, tt.err }}
			err := e.Check(t.Context())
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Check: %v, want %q", err, tt.want)
			}
			if !e.probed.Load() {
				t.Error("no stream can be opened there")
			}
			if ready := e.Ready(nil); (ready == nil) != (err == nil) {
				t.Errorf("it is ready: %v, after Check: %v", ready, err)
			}
		})
	}
}

func TestWitnessesAreStreamsWhoseLogsMustBeThere(t *testing.T) {
	opened := func(name string, change func(*v1alpha1.Stream)) v1alpha1.Stream {
		stream := v1alpha1.Stream{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
			Status:     v1alpha1.StreamStatus{Epoch: 3, OpenedLog: &v1alpha1.OpenedLog{Segment: 7}},
		}
		if change != nil {
			change(&stream)
		}
		return stream
	}
	streams := []v1alpha1.Stream{
		opened("new", func(s *v1alpha1.Stream) { s.Status.OpenedLog = nil }),
		opened("transferred", func(s *v1alpha1.Stream) { s.Status.LastTransfer = &v1alpha1.LastTransfer{ClosedEpoch: 2, Tail: 40} }),
		opened("deleted", func(s *v1alpha1.Stream) { s.DeletionTimestamp = new(metav1.Now()) }),
		opened("lost", func(s *v1alpha1.Stream) { s.Annotations = map[string]string{v1alpha1.AnnotationAcceptLogEnd: "3"} }),
		opened("open", nil),
	}
	want := []Witness{{"default/transferred", "uid-transferred", 7}, {"default/open", "uid-open", 7}}
	if got := witnesses(streams); !slices.Equal(got, want) {
		t.Errorf("witnesses are %v, want %v", got, want)
	}
}

func TestAnAgentIsReadyOnceItsStoreHasPassedTheTest(t *testing.T) {
	objects, err := store.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	e := &StoreEngine{Store: objects}
	if err := e.Ready(nil); err == nil {
		t.Error("it is ready before the test")
	}
	if err := e.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Ready(nil); err != nil {
		t.Errorf("it is not ready after the test: %v", err)
	}
}
