package handoff

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

var (
	moment = time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	micro  = metav1.NewMicroTime(moment)
)

func streamAt(change func(*v1alpha1.Stream)) *v1alpha1.Stream {
	stream := &v1alpha1.Stream{
		ObjectMeta: metav1.ObjectMeta{Name: "orders", Namespace: "default", UID: "stream-uid", Generation: 2},
		Status:     v1alpha1.StreamStatus{ObservedGeneration: 2, Node: "node-a", Epoch: 7, State: v1alpha1.StreamOpen, OpenedAt: &micro},
	}
	if change != nil {
		change(stream)
	}
	return stream
}

func pendingTo(target string) func(*v1alpha1.Stream) {
	return func(s *v1alpha1.Stream) {
		s.Status.PendingTransfer = &v1alpha1.PendingTransfer{Name: "t", UID: "transfer-uid", Source: s.Status.Node, Target: target, AcceptedAt: micro}
	}
}

func unplaced(s *v1alpha1.Stream) {
	s.Status = v1alpha1.StreamStatus{ObservedGeneration: -1}
}

// stepCases has each step beside the register that it is proposed against.
func stepCases() map[string]struct {
	stream *v1alpha1.Stream
	step   func(*v1alpha1.Stream) Step
} {
	type stepCase = struct {
		stream *v1alpha1.Stream
		step   func(*v1alpha1.Stream) Step
	}
	transfer := &v1alpha1.StreamTransfer{ObjectMeta: metav1.ObjectMeta{Name: "t", UID: types.UID("transfer-uid")}, Spec: v1alpha1.StreamTransferSpec{Stream: "orders", Target: "node-b"}}
	return map[string]stepCase{
		"Place":  {streamAt(unplaced), func(s *v1alpha1.Stream) Step { return Place(s, "node-a", micro) }},
		"Opened": {streamAt(func(s *v1alpha1.Stream) { s.Status.State = v1alpha1.StreamOpening }), func(s *v1alpha1.Stream) Step { return Opened(s, micro, &v1alpha1.OpenedLog{Segment: 7, Offset: 24}) }},
		"Accept": {streamAt(nil), func(s *v1alpha1.Stream) Step { return Accept(s, transfer, micro) }},
		"Close":  {streamAt(nil), func(s *v1alpha1.Stream) Step { return RecordClosed(s, 12, micro) }},
		"Complete": {streamAt(pendingTo("node-b")), func(s *v1alpha1.Stream) Step {
			return CompleteTransfer(s, Closing{Tail: 12, StoppedAt: &micro, ClosedAt: &micro}, micro)
		}},
		"Reopen":   {streamAt(nil), func(s *v1alpha1.Stream) Step { return ReopenAt(s, 8, micro) }},
		"Withdraw": {streamAt(pendingTo("node-b")), func(s *v1alpha1.Stream) Step { return Withdraw(s, micro) }},
	}
}

func TestAStepHoldsOnTheRegisterItWasDecidedFrom(t *testing.T) {
	for name, c := range stepCases() {
		t.Run(name, func(t *testing.T) {
			step := c.step(c.stream)
			got, err := apply(c.stream, step.Patch)
			if err != nil {
				t.Fatalf("applying %s: %v", step.Patch, err)
			}
			if diff := cmp.Diff(step.Next, got.Status); diff != "" {
				t.Errorf("status (-computed +patched):\n%s", diff)
			}
			if step.Name != name {
				t.Errorf("step is named %s", step.Name)
			}
		})
	}
}

func TestAStepIsRefusedWhereAnythingItWasDecidedFromHasChanged(t *testing.T) {
	changes := map[string]func(*v1alpha1.Stream){
		"another object under the same name": func(s *v1alpha1.Stream) { s.UID = "other" },
		"another owner":                      func(s *v1alpha1.Stream) { s.Status.Node = "node-z" },
		"a higher epoch":                     func(s *v1alpha1.Stream) { s.Status.Epoch++ },
		"another state":                      func(s *v1alpha1.Stream) { s.Status.State = v1alpha1.StreamClosed },
		"a pending transfer come or gone": func(s *v1alpha1.Stream) {
			if s.Status.PendingTransfer != nil {
				s.Status.PendingTransfer = nil
			} else {
				pendingTo("node-c")(s)
			}
		},
		"another pending transfer": func(s *v1alpha1.Stream) {
			pendingTo("node-c")(s)
			s.Status.PendingTransfer.UID = "other"
		},
	}
	for name, c := range stepCases() {
		for change, apply1 := range changes {
			t.Run(name+", "+change, func(t *testing.T) {
				changed := c.stream.DeepCopy()
				apply1(changed)
				if got, err := apply(changed, c.step(c.stream).Patch); err == nil {
					t.Errorf("the step was taken: %+v", got.Status)
				}
			})
		}
	}
}

func TestARepeatedStepIsRefused(t *testing.T) {
	for name, c := range stepCases() {
		t.Run(name, func(t *testing.T) {
			patch := c.step(c.stream).Patch
			once, err := apply(c.stream, patch)
			if err != nil {
				t.Fatalf("applying: %v", err)
			}
			if twice, err := apply(once, patch); err == nil {
				t.Errorf("the step was taken twice: %+v", twice.Status)
			}
		})
	}
}

// apply applies a JSON patch by the library that the API server uses.
func apply(stream *v1alpha1.Stream, patch []byte) (*v1alpha1.Stream, error) {
	document, err := json.Marshal(stream)
	if err != nil {
		return nil, err
	}
	decoded, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	document, err = decoded.Apply(document)
	if err != nil {
		return nil, err
	}
	patched := &v1alpha1.Stream{}
	return patched, json.Unmarshal(document, patched)
}
