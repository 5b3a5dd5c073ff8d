package stream

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

func TestWhatIsNotedOnAStreamThatHasAnOwner(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.Stream)
		want   action
	}{
		"everything is said":                         {func(*v1alpha1.Stream) {}, wait},
		"the spec has changed":                       {func(s *v1alpha1.Stream) { s.Generation = 3 }, noteAtNode},
		"the spec wants it on another node":          {func(s *v1alpha1.Stream) { s.Generation, s.Spec.NodeName = 3, "b" }, wait},
		"the spec wants it where it is":              {func(s *v1alpha1.Stream) { s.Generation, s.Spec.NodeName = 3, "a" }, noteAtNode},
		"a pending transfer brings its conditions":   {func(s *v1alpha1.Stream) { s.Generation, s.Status.PendingTransfer = 3, &v1alpha1.PendingTransfer{} }, wait},
		"it has come where it was wanted":            {func(s *v1alpha1.Stream) { going(s, "a") }, noteAtNode},
		"it is not wanted anywhere any more":         {func(s *v1alpha1.Stream) { going(s, "") }, noteAtNode},
		"it is still to go elsewhere":                {func(s *v1alpha1.Stream) { going(s, "b") }, wait},
		"it is being deleted: nothing is said of it": {func(s *v1alpha1.Stream) { s.Generation, s.DeletionTimestamp = 3, &metav1.Time{Time: time.Unix(1, 0)} }, wait},
	} {
		t.Run(name, func(t *testing.T) {
			stream := &v1alpha1.Stream{
				ObjectMeta: metav1.ObjectMeta{Generation: 2},
				Status:     v1alpha1.StreamStatus{ObservedGeneration: 2, Node: "a", Epoch: 1, State: v1alpha1.StreamOpen},
			}
			c.change(stream)
			if got := decide(&view{stream: stream}); got.action != c.want {
				t.Errorf("got action %d, want %d: %s", got.action, c.want, got.reason)
			}
		})
	}
}

// going says on the stream that it is to go elsewhere, and has its spec want it on a node.
func going(stream *v1alpha1.Stream, wanted string) {
	stream.Spec.NodeName = wanted
	stream.Status.Conditions = condition.Merge(nil, 2, metav1.Time{}, condition.True(v1alpha1.ConditionReconciling, v1alpha1.ReasonGoingToNode, ""))
}
