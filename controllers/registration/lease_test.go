package registration

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

var errAway = errors.New("the API server is away")

// newAgent returns an agent whose API server answers while away is false, and a clock for it.
func newAgent(t *testing.T, away *bool, now *time.Time) *Agent {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, coordinationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	server := interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.StreamNode{}).Build(), interceptor.Funcs{
		Update: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			*now = now.Add(time.Second) // it takes a while
			if *away {
				return errAway
			}
			return c.Update(ctx, object, options...)
		},
	})
	return &Agent{
		Client: server, Node: "a", Instance: "one", LeaseDuration: 15 * time.Second, RenewEvery: 5 * time.Second,
		Now: func() time.Time { return *now }, Log: logr.Discard(),
	}
}

// TestALeaseRunsOutAsTheNodeKnowsIt: counted from when the last renewal that was answered was sent.
func TestALeaseRunsOutAsTheNodeKnowsIt(t *testing.T) {
	away, now := false, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	a := newAgent(t, &away, &now)
	if a.LeaseLapsed() {
		t.Error("a node that never had a lease has lost one")
	}
	for range 2 { // to get it, and to renew it
		if err := a.renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	sent := now.Add(-time.Second)
	away = true
	if err := a.renew(t.Context()); !errors.Is(err, errAway) {
		t.Fatalf("renewing while the API server is away: %v", err)
	}
	now = sent.Add(15*time.Second - 1)
	if a.LeaseLapsed() {
		t.Error("it has run out a nanosecond too early")
	}
	now = sent.Add(15 * time.Second)
	if !a.LeaseLapsed() {
		t.Error("it has not run out although it was renewed 15 s ago")
	}
	away = false
	if err := a.renew(t.Context()); err != nil || a.LeaseLapsed() {
		t.Errorf("after it was renewed: lapsed %t, %v", a.LeaseLapsed(), err)
	}
}

// TestAReportDoesNotWaitForEver: the lease is renewed by the same loop.
func TestAReportDoesNotWaitForEver(t *testing.T) {
	away, now := false, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	a := newAgent(t, &away, &now)
	a.RenewEvery = time.Millisecond
	a.HoldsSessions = func() bool { return false }
	a.Client = interceptor.NewClient(a.Client.(client.WithWatch), interceptor.Funcs{ //nolint:forcetypeassert // made above
		Create: func(ctx context.Context, _ client.WithWatch, _ client.Object, _ ...client.CreateOption) error {
			<-ctx.Done() // an API server that hangs
			return ctx.Err()
		},
	})
	a.reportOrLog(t.Context())
	if a.registered() {
		t.Error("the node is registered although nobody answered")
	}
}
