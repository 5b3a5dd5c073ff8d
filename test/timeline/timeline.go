// Package timeline follows one transfer from outside: it waits for its end and tells when each step was taken, as the
// StreamTransfer's status says, and how long clients waited, as the load on the stream saw it. It decides nothing.
package timeline

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/load"
)

const (
	finishTimeout = 60 * time.Second
	// appendTimeout bounds how long after the target's opening an append may take to be acknowledged.
	appendTimeout = 30 * time.Second
	pollInterval  = 2 * time.Millisecond
)

// Timeline of a transfer that has succeeded. All its times are of this machine's clock: every process of the run is here.
type Timeline struct {
	Stream, Source, Target string
	// Epoch is the one that the source closed; the target opened the next.
	Epoch int64
	// The steps, each when its author took it. They have microseconds.
	Accepted, Stopped, Closed, Committed, Opened time.Time
	// Gap is the longest time without an acknowledged append while the transfer ran: the window, as clients saw it.
	Gap load.Gap
}

// Await waits until the transfer has succeeded and an append has been acknowledged after it. A transfer that ends otherwise is
// an error that carries its reason.
func Await(ctx context.Context, c client.WithWatch, run *load.Run, key client.ObjectKey) (Timeline, error) {
	transfer, err := AwaitEnd(ctx, c, key)
	if err != nil {
		return Timeline{}, err
	}
	ready := meta.FindStatusCondition(transfer.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue {
		return Timeline{}, fmt.Errorf("transfer %s ended without success: %s", key.Name, reason(transfer))
	}
	status := transfer.Status
	for _, moment := range []*metav1.MicroTime{status.AcceptedAt, status.StoppedAt, status.ClosedAt, status.CommittedAt, status.OpenedAt} {
		if moment == nil {
			return Timeline{}, fmt.Errorf("transfer %s from %q to %q succeeded and lacks a time: was there anything to do?", key.Name, status.Source, status.Target)
		}
	}
	line := Timeline{
		Stream:    transfer.Spec.Stream,
		Source:    status.Source,
		Target:    status.Target,
		Epoch:     status.Epoch,
		Accepted:  status.AcceptedAt.Time,
		Stopped:   status.StoppedAt.Time,
		Closed:    status.ClosedAt.Time,
		Committed: status.CommittedAt.Time,
		Opened:    status.OpenedAt.Time,
	}
	line.Gap, err = AwaitGap(ctx, run, line.Stopped, line.Opened)
	return line, err
}

// AwaitEnd waits until the transfer has ended, in whatever way.
func AwaitEnd(ctx context.Context, c client.WithWatch, key client.ObjectKey) (*v1alpha1.StreamTransfer, error) {
	ctx, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	watcher, err := c.Watch(ctx, &v1alpha1.StreamTransferList{}, &client.ListOptions{
		Namespace:     key.Namespace,
		FieldSelector: fields.OneTermEqualSelector("metadata.name", key.Name),
	})
	if err != nil {
		return nil, fmt.Errorf("watching transfer %s: %w", key.Name, err)
	}
	defer watcher.Stop()
	last := "the transfer was never seen"
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for transfer %s to end: %w: %s", key.Name, ctx.Err(), last)
		case event, open := <-watcher.ResultChan():
			if !open {
				return nil, fmt.Errorf("waiting for transfer %s to end: the watch ended: %s", key.Name, last)
			}
			transfer, ok := event.Object.(*v1alpha1.StreamTransfer)
			if !ok || event.Type == watch.Deleted {
				return nil, fmt.Errorf("waiting for transfer %s to end: it is %s: %v", key.Name, event.Type, event.Object)
			}
			if ended(transfer) {
				return transfer, nil
			}
			last = reason(transfer)
		}
	}
}

func ended(transfer *v1alpha1.StreamTransfer) bool {
	return meta.IsStatusConditionTrue(transfer.Status.Conditions, v1alpha1.ConditionReady) ||
		meta.IsStatusConditionTrue(transfer.Status.Conditions, v1alpha1.ConditionStalled)
}

// reason tells why the transfer is where it is.
func reason(transfer *v1alpha1.StreamTransfer) string {
	if ready := meta.FindStatusCondition(transfer.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return fmt.Sprintf("%s: %s", ready.Reason, ready.Message)
	}
	return "it has no conditions yet"
}

// AwaitGap waits until the load has an append acknowledged after the later moment, and returns the longest gap between the two.
func AwaitGap(ctx context.Context, run *load.Run, from, to time.Time) (load.Gap, error) {
	ctx, cancel := context.WithTimeout(ctx, appendTimeout)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if gap, ok := run.LongestGap(from, to); ok {
			return gap, nil
		}
		select {
		case <-ctx.Done():
			return load.Gap{}, fmt.Errorf("waiting for an append to be acknowledged: %w; failed requests: %v", ctx.Err(), run.Faults())
		case <-ticker.C:
		}
	}
}
