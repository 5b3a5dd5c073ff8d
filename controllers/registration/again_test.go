package registration

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// TestANodeThatWasDeletedIsRegisteredWithTheNextRenewal: requests for its streams wait for its address meanwhile, and not for long.
func TestANodeThatWasDeletedIsRegisteredWithTheNextRenewal(t *testing.T) {
	away, now := false, time.Now()
	a := newAgent(t, &away, &now)
	a.Now, a.RenewEvery, a.CheckStoreEvery = time.Now, time.Millisecond*50, time.Hour
	a.HoldsSessions = func() bool { return false }
	a.CheckStore = func(context.Context) error { return nil }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- a.Start(ctx) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	node := &v1alpha1.StreamNode{}
	await := func() {
		t.Helper()
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		deadline := time.After(30 * time.Second)
		for a.Client.Get(ctx, client.ObjectKey{Name: "a"}, node) != nil || node.Status.Instance != "one" {
			select {
			case <-tick.C:
			case <-deadline:
				t.Fatal("the node is not registered")
			}
		}
	}
	await()
	if err := a.Client.Delete(ctx, node); err != nil {
		t.Fatal(err)
	}
	await()
}
