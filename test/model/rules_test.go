package model

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/handoff"
)

// BenchmarkRules measures what the CRD's rules cost the API server for each step of a stream's second transfer: they are a part of every
// write of a register, and their cost is that of looking fields up.
func BenchmarkRules(b *testing.B) {
	arbiter, err := newArbiter()
	if err != nil {
		b.Fatal(err)
	}
	to := func(target string) *v1alpha1.StreamTransfer {
		return &v1alpha1.StreamTransfer{
			ObjectMeta: metav1.ObjectMeta{Name: "to-" + target, UID: types.UID("uid-of-" + target)},
			Spec:       v1alpha1.StreamTransferSpec{Target: target},
		}
	}
	now := metav1.Now
	accept := func(target string) func(*v1alpha1.Stream) handoff.Step {
		return func(s *v1alpha1.Stream) handoff.Step { return handoff.Accept(s, to(target), metav1.MicroTime(now())) }
	}
	complete := func(s *v1alpha1.Stream) handoff.Step {
		at := metav1.MicroTime(now())
		return handoff.CompleteTransfer(s, handoff.Closing{Tail: 3, StoppedAt: &at, ClosedAt: &at}, at)
	}
	opened := func(s *v1alpha1.Stream) handoff.Step {
		return handoff.Opened(s, metav1.MicroTime(now()), &v1alpha1.OpenedLog{Segment: 3, Offset: 100})
	}
	stream := register{}.stream()
	for _, step := range []struct {
		name    string
		propose func(*v1alpha1.Stream) handoff.Step
		counted bool
	}{
		{"Place", func(s *v1alpha1.Stream) handoff.Step { return handoff.Place(s, "A", metav1.MicroTime(now())) }, false},
		{"Opened", opened, false},
		{"Accept", accept("B"), false},
		{"Complete", complete, false},
		{"Opened", opened, false},
		{"Accept", accept("C"), true},
		{"Complete", complete, true},
		{"Opened", opened, true},
	} {
		proposed := step.propose(stream)
		document := must(json.Marshal(stream))
		patched, err := applyPatch(document, proposed.Patch)
		if err != nil {
			b.Fatalf("%s: %v", step.name, err)
		}
		next := &v1alpha1.Stream{}
		if err := json.Unmarshal(patched, next); err != nil {
			b.Fatal(err)
		}
		if step.counted {
			old, object := decoded(document), decoded(patched)
			b.Run(step.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if errs := arbiter.refusals(old, object); len(errs) > 0 {
						b.Fatal(errs)
					}
				}
			})
		}
		stream = next
	}
}
