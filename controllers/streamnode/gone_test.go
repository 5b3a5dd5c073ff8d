package streamnode

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// TestANodeThatIsGoneIsNoFailure: it was deleted between the look at it and the write.
func TestANodeThatIsGoneIsNoFailure(t *testing.T) {
	r := newReconciler(func(func() error) error {
		return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("streamnodes").GroupResource(), "a")
	})
	if _, err := r.Reconcile(t.Context(), requestFor("a")); err != nil {
		t.Errorf("got %v", err)
	}
}
