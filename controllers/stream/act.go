package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/handoff"
)

// errSlotTaken tells that the node's last slot went to another stream since the view was read.
var errSlotTaken = errors.New("the last free slot was taken meanwhile")

// act has exactly one effect.
func (r *Reconciler) act(ctx context.Context, v *view, d decision) error {
	switch d.action {
	case wait:
		return nil
	case holdLog:
		return r.holdLog(ctx, v.stream)
	case releaseLog:
		return r.releaseLog(ctx, v.stream)
	case place:
		return r.place(ctx, v, d)
	case reportUnplaced:
		return r.reportUnplaced(ctx, v.stream, d.reason)
	case withdraw:
		return r.withdraw(ctx, v.stream, d.reason)
	case noteAtNode:
		return r.noteAtNode(ctx, v.stream)
	}
	panic(fmt.Sprintf("unknown action %d", d.action))
}

func holdsLog(stream *v1alpha1.Stream) bool {
	return slices.Contains(stream.Finalizers, v1alpha1.FinalizerLog)
}

// holdLog adds the finalizer that holds the object until its owner has removed the log. It must be there before the
// first owner writes anything.
func (r *Reconciler) holdLog(ctx context.Context, stream *v1alpha1.Stream) error {
	return r.patchFinalizers(ctx, stream, append(slices.Clone(stream.Finalizers), v1alpha1.FinalizerLog))
}

// releaseLog removes the finalizer of a stream that nobody has ever opened.
func (r *Reconciler) releaseLog(ctx context.Context, stream *v1alpha1.Stream) error {
	return r.patchFinalizers(ctx, stream, slices.DeleteFunc(slices.Clone(stream.Finalizers), func(f string) bool { return f == v1alpha1.FinalizerLog }))
}

func (r *Reconciler) patchFinalizers(ctx context.Context, stream *v1alpha1.Stream, finalizers []string) error {
	updated, err := register.PatchFinalizers(ctx, r.Client, stream, finalizers)
	if err != nil || updated == nil {
		return err
	}
	r.Views.Wrote(updated)
	return nil
}

func (r *Reconciler) place(ctx context.Context, v *view, d decision) error {
	capacity := 0
	for _, node := range v.nodes {
		if node.Name == d.node {
			capacity = node.Slots
		}
	}
	if !r.Slots.Reserve(v.stream.UID, d.node, capacity) {
		return errSlotTaken
	}
	updated, err := r.propose(ctx, v.stream, handoff.Place(v.stream, d.node, metav1.NewMicroTime(r.Now())))
	if err != nil {
		// It may have been taken: the slot counts until the register is known.
		r.Slots.Doubt(v.stream.UID)
		return err
	}
	r.Slots.Release(v.stream.UID)
	r.Events.Eventf(updated, nil, corev1.EventTypeNormal, "Placed", "Place", "Placed on node %s: %s", d.node, d.reason)
	ctrl.LoggerFrom(ctx).Info("Placed stream", "node", d.node, "epoch", updated.Status.Epoch, "reason", d.reason)
	return nil
}

func (r *Reconciler) reportUnplaced(ctx context.Context, stream *v1alpha1.Stream, reason string) error {
	if known, found := condition.Get(stream.Status.Conditions, v1alpha1.ConditionReady); found &&
		known.Message == handoff.UnplacedMessage(reason) && known.ObservedGeneration == stream.Generation {
		return nil
	}
	updated, err := r.propose(ctx, stream, handoff.Unplaced(stream, reason, metav1.NewMicroTime(r.Now())))
	if err != nil {
		return err
	}
	r.Events.Eventf(updated, nil, corev1.EventTypeWarning, v1alpha1.ReasonNoEligibleNode, "Place", "Not placed: %s", reason)
	ctrl.LoggerFrom(ctx).V(1).Info("Cannot place stream", "reason", reason)
	return nil
}

func (r *Reconciler) withdraw(ctx context.Context, stream *v1alpha1.Stream, reason string) error {
	pending := stream.Status.PendingTransfer
	updated, err := r.propose(ctx, stream, handoff.Withdraw(stream, metav1.NewMicroTime(r.Now())))
	if err != nil {
		return err
	}
	r.Events.Eventf(updated, nil, corev1.EventTypeNormal, "TransferWithdrawn", "Withdraw", "Withdrew transfer %s: %s", pending.Name, reason)
	ctrl.LoggerFrom(ctx).Info("Withdrew transfer", "transfer", pending.Name, "epoch", updated.Status.Epoch, "reason", reason)
	return nil
}

// noteAtNode says that the present spec has been seen, and wants no other node.
func (r *Reconciler) noteAtNode(ctx context.Context, stream *v1alpha1.Stream) error {
	var say []condition.Condition
	if _, said := condition.Get(stream.Status.Conditions, v1alpha1.ConditionReconciling); said {
		say = append(say, condition.False(v1alpha1.ConditionReconciling, v1alpha1.ReasonAtNode, "The stream is not wanted on another node."))
	}
	_, err := r.propose(ctx, stream, handoff.Note(stream, metav1.NewMicroTime(r.Now()), say...))
	return err
}

func (r *Reconciler) propose(ctx context.Context, stream *v1alpha1.Stream, step handoff.Step) (*v1alpha1.Stream, error) {
	updated, err := register.Propose(ctx, r.Client, stream, step)
	if err != nil {
		return nil, err
	}
	r.Views.Wrote(updated)
	r.Slots.Answer(updated)
	return updated, nil
}
