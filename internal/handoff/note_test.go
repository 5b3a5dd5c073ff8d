package handoff

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

func TestANoteChangesNothingButConditions(t *testing.T) {
	now := metav1.NewMicroTime(time.Unix(100, 0))
	stream := &v1alpha1.Stream{
		ObjectMeta: metav1.ObjectMeta{UID: types.UID("uid"), Generation: 3},
		Status:     v1alpha1.StreamStatus{ObservedGeneration: 1, Node: "a", Epoch: 7, State: v1alpha1.StreamOpen, Tail: 4},
	}
	step := Note(stream, now, condition.True(v1alpha1.ConditionReconciling, v1alpha1.ReasonNodeNameWaits, "It waits."))

	register := step.Next
	conditions := register.Conditions
	register.ObservedGeneration, register.Conditions = stream.Status.ObservedGeneration, nil
	if diff := cmp.Diff(stream.Status, register); diff != "" {
		t.Errorf("the register (-before +after):\n%s", diff)
	}
	if step.Next.ObservedGeneration != 3 || !condition.IsTrue(conditions, v1alpha1.ConditionReconciling) || !condition.IsTrue(conditions, v1alpha1.ConditionReady) {
		t.Errorf("generation %d, conditions %+v", step.Next.ObservedGeneration, conditions)
	}

	// The register's own steps keep what was said.
	stream.Status = step.Next
	next := ReopenAt(stream, 8, now).Next
	if !condition.IsTrue(next.Conditions, v1alpha1.ConditionReconciling) {
		t.Errorf("a step dropped the note: %+v", next.Conditions)
	}
}
