package guard

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

const (
	// look is how often a guard that is asked to end looks at its node.
	look = time.Second
	// settle is for how long it waits for the drain to begin: the eviction may be faster than the manager.
	settle = 10 * time.Second
)

// AwaitDrained returns when the node's streams have left: it is Drained, gone, or not drained at all. It also returns, with an
// error, when the context ends. An API server that does not answer is asked again.
func AwaitDrained(ctx context.Context, reader client.Reader, node string, tell func(message string)) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	settled := time.NewTimer(settle)
	defer settled.Stop()
	draining, told := false, ""
	for {
		message := "Waiting for the streams to leave"
		current := &v1alpha1.StreamNode{}
		switch err := reader.Get(ctx, client.ObjectKey{Name: node}, current); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			message = "Cannot read the node: " + err.Error()
		case condition.IsTrue(current.Status.Conditions, v1alpha1.ConditionDrained):
			return nil
		case condition.IsTrue(current.Status.Conditions, v1alpha1.ConditionDraining):
			draining = true
		case draining:
			return nil // the drain was withdrawn
		}
		if message != told {
			tell(message)
			told = message
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the streams to leave node %s: %w", node, context.Cause(ctx))
		case <-settled.C:
			if !draining {
				return nil
			}
		case <-tick.C:
		}
	}
}
