package handoff

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

// Note says what the manager thinks of a stream that has an owner, beside what follows from the register, and that it has seen
// the present spec. Like Unplaced it changes nothing but conditions; the register's steps keep what it says.
func Note(stream *v1alpha1.Stream, now metav1.MicroTime, say ...condition.Condition) Step {
	next := stream.Status.DeepCopy()
	next.ObservedGeneration = stream.Generation
	say = append(followed(next), say...)
	next.Conditions = condition.Merge(next.Conditions, stream.Generation, second(now), say...)
	return encode("Note", stream, next)
}
