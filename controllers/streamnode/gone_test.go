package streamnode

import (
	"context"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/slots"
)

// TestANodeThatIsGoneIsNoFailure: it was deleted between the look at it and the write.
func TestANodeThatIsGoneIsNoFailure(t *testing.T) {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	server := fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(&v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: "a"}}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourceApply: func(
			context.Context, client.Client, string, runtime.ApplyConfiguration, ...client.SubResourceApplyOption,
		) error {
			return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("streamnodes").GroupResource(), "a")
		}}).Build()
	r := &Reconciler{Client: server, Slots: slots.NewLedger(), Events: events.NewFakeRecorder(1), Now: time.Now}
	if _, err := r.Reconcile(t.Context(), requestFor("a")); err != nil {
		t.Errorf("got %v", err)
	}
}
