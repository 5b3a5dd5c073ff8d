package streamtransfer

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/admission"
	"github.com/streamshift/streamshift/internal/handoff"
)

// TestATransferThatIsGoneIsNotAccepted: it was deleted between the look at it and the acceptance, which is no failure.
func TestATransferThatIsGoneIsNotAccepted(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	r := &Reconciler{Live: fake.NewClientBuilder().WithScheme(scheme).Build(), Now: time.Now}
	transfer := &v1alpha1.StreamTransfer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "t"}}
	err := r.accept(t.Context(), handoff.TransferView{View: admission.View{Transfer: transfer}})
	if !errors.Is(err, errDecideAgain) {
		t.Errorf("accept returns %v, want that it is decided again", err)
	}
}
