package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/bed"
)

// do does what makes the process pass its point.
func (t *trial) do(ctx context.Context) error {
	switch t.deed {
	case transferring:
		_, err := t.transfer(ctx)
		return err
	case placing:
		return t.another(ctx, nil)
	case stranding:
		return t.another(ctx, map[string]v1alpha1.LabelValue{"nowhere": "true"})
	case cancelling:
		return t.cancelPaused(ctx)
	case takingOver:
		if err := t.from.Pause(); err != nil {
			return fmt.Errorf("pausing the source: %w", err)
		}
		return nil // the manager takes over by itself
	case failing:
		if err := t.to.SetFaults(bed.Faults{Fail: 1}); err != nil {
			return err //nolint:wrapcheck // says what it was doing
		}
		_, err := t.transfer(ctx)
		return err
	case naming:
		return t.patch(ctx, t.stream, fmt.Sprintf(`{"spec":{"nodeName":%q}}`, t.to.Name()))
	case restarting, appending:
		return nil
	}
	panic(fmt.Sprintf("unknown deed %d", int(t.deed)))
}

func (t *trial) transfer(ctx context.Context) (*v1alpha1.StreamTransfer, error) {
	transfer := &v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: t.stream.Name},
		Spec:       v1alpha1.StreamTransferSpec{Stream: t.stream.Name, Target: t.to.Name()},
	}
	if err := t.bed.Cluster.Client().Create(ctx, transfer); err != nil {
		return nil, fmt.Errorf("making a transfer: %w", err)
	}
	return transfer, nil
}

// another makes a second stream, which is deleted with the first by nobody: its object is small.
func (t *trial) another(ctx context.Context, selector map[string]v1alpha1.LabelValue) error {
	stream := &v1alpha1.Stream{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: t.stream.Name + "-other"},
		Spec:       v1alpha1.StreamSpec{NodeSelector: selector},
	}
	if err := t.bed.Cluster.Client().Create(ctx, stream); err != nil {
		return fmt.Errorf("making another stream: %w", err)
	}
	return nil
}

// cancelPaused cancels a transfer that its source cannot complete.
func (t *trial) cancelPaused(ctx context.Context) error {
	if err := t.from.Pause(); err != nil {
		return fmt.Errorf("pausing the source: %w", err)
	}
	transfer, err := t.transfer(ctx)
	if err != nil {
		return err
	}
	if err := t.await(ctx, "the transfer to be accepted", t.pending); err != nil {
		return err
	}
	return t.patch(ctx, transfer, `{"spec":{"cancel":true}}`)
}

// pending tells whether the stream's register holds a pending record.
func (t *trial) pending(ctx context.Context) error {
	if err := t.bed.Cluster.Client().Get(ctx, client.ObjectKeyFromObject(t.stream), t.stream); err != nil {
		return fmt.Errorf("reading the stream: %w", err)
	}
	if t.stream.Status.PendingTransfer == nil {
		return errors.New("it is not pending")
	}
	return nil
}

func (t *trial) patch(ctx context.Context, object client.Object, patch string) error {
	if err := t.bed.Cluster.Client().Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return fmt.Errorf("changing %s: %w", object.GetName(), err)
	}
	return nil
}

// killAndAwaitNext kills the process and waits for its next life, which is the one to end at the point.
func (t *trial) killAndAwaitNext(ctx context.Context) error {
	process, old := t.process(), t.pid
	if err := syscall.Kill(old, syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing %s: %w", process.Name(), err)
	}
	err := t.await(ctx, "the next life of the process", func(context.Context) error {
		if process.PID() == old {
			return errors.New("it has not begun")
		}
		return nil
	})
	t.pid = process.PID()
	return err
}
