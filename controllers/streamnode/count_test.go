package streamnode

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/slots"
	"github.com/streamshift/streamshift/internal/liveness"
)

// newReconciler has one node, "a". Each write of its status goes through write, which may carry it out.
func newReconciler(write func(apply func() error) error) *Reconciler {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	server := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.StreamNode{}).
		WithObjects(&v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: "a"}}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourceApply: func(
			ctx context.Context, c client.Client, sub string, object runtime.ApplyConfiguration, options ...client.SubResourceApplyOption,
		) error {
			return write(func() error { return c.SubResource(sub).Apply(ctx, object, options...) })
		}}).Build()
	return &Reconciler{
		Client: server, Slots: slots.NewLedger(), Events: events.NewFakeRecorder(100), Now: time.Now,
		LeaseLimits: liveness.Limits{SuspectAfter: time.Second, ExpiredAfter: 2 * time.Second},
	}
}

// Streams come and go, and each write makes an event that asks for another look: the counters are written once in countEvery all the
// same, and are right in the end.
func TestCountersAreWrittenOnceInAWhile(t *testing.T) {
	writes, now := 0, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := newReconciler(func(apply func() error) error {
		writes++
		return apply()
	})
	r.Now = func() time.Time { return now }
	look := func() time.Duration {
		t.Helper()
		result, err := r.Reconcile(t.Context(), requestFor("a"))
		if err != nil {
			t.Fatal(err)
		}
		return result.RequeueAfter
	}
	streams := 0
	takeStream := func() {
		streams++
		r.Slots.Observe(&v1alpha1.Stream{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(streams), UID: types.UID(fmt.Sprint(streams)), ResourceVersion: "1"},
			Status:     v1alpha1.StreamStatus{Node: "a", Epoch: 1},
		})
	}
	look() // the first look writes the conditions, too
	if writes != 1 {
		t.Fatalf("the first look made %d writes", writes)
	}
	for range 10 {
		takeStream()
		if again := look(); again <= 0 || again > countEvery {
			t.Fatalf("it looks again after %v", again)
		}
		now = now.Add(countEvery / 20)
	}
	if writes != 1 {
		t.Errorf("%d writes in half of countEvery, want none after the first", writes-1)
	}
	now = now.Add(countEvery)
	if again := look(); writes != 2 || again != 0 {
		t.Errorf("a while later: %d writes, another look after %v", writes, again)
	}
	var node v1alpha1.StreamNode
	if err := r.Client.Get(t.Context(), client.ObjectKey{Name: "a"}, &node); err != nil || int(node.Status.Streams) != streams {
		t.Errorf("%d streams are told, want %d (%v)", node.Status.Streams, streams, err)
	}
	now = now.Add(-time.Hour) // a clock that is set back holds nothing up
	takeStream()
	if look(); writes != 3 {
		t.Errorf("after the clock was set back: %d writes, want 3", writes)
	}
}
