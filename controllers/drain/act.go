package drain

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/handoff"
)

// keepFor is for how many seconds transfers of this package's making are kept after their end.
const keepFor int32 = 3600

// writesAtOnce bounds the transfers that are made at the same time.
const writesAtOnce = 16

// act makes and cancels the transfers of one pass.
func (r *Reconciler) act(ctx context.Context, d decision) error {
	errs := make([]error, len(d.moves)+len(d.cancel))
	workqueue.ParallelizeUntil(ctx, writesAtOnce, len(errs), func(i int) {
		if i < len(d.moves) {
			errs[i] = r.makeTransfer(ctx, &d.moves[i])
			return
		}
		errs[i] = r.cancelTransfer(ctx, &d.cancel[i-len(d.moves)])
	})
	return errors.Join(errs...)
}

// makeTransfer makes the transfer. Its name follows from the stream and its epoch, so that a second manager, or a second
// pass from an older view, makes the same one. One that ended without moving the stream makes room for the next try.
func (r *Reconciler) makeTransfer(ctx context.Context, m *move) error {
	transfer := newTransfer(m)
	err := r.Client.Create(ctx, transfer)
	switch {
	case err == nil:
		ctrl.LoggerFrom(ctx).V(1).Info("Made transfer", "stream", m.stream.Name, "source", m.stream.Status.Node, "target", m.target, "cause", m.cause)
		return nil
	case apierrors.IsAlreadyExists(err):
		return r.makeRoom(ctx, transfer)
	case apierrors.IsForbidden(err):
		// The webhook sees something that this view does not show yet: the next pass decides again.
		ctrl.LoggerFrom(ctx).V(1).Info("Deciding again", "stream", m.stream.Name, "reason", err.Error())
		return nil
	}
	return fmt.Errorf("making transfer of stream %s/%s: %w", m.stream.Namespace, m.stream.Name, err)
}

func newTransfer(m *move) *v1alpha1.StreamTransfer {
	stream := &m.stream
	epoch := stream.Status.Epoch
	return &v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: stream.Namespace, Name: transferName(stream.Name, epoch, m.cause),
			Labels: map[string]string{
				v1alpha1.LabelManagedBy: "streamshift", v1alpha1.LabelCause: m.cause, v1alpha1.LabelStream: labelValue(stream.Name),
				v1alpha1.LabelSourceNode: labelValue(stream.Status.Node), v1alpha1.LabelTargetNode: labelValue(m.target),
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(stream, v1alpha1.GroupVersion.WithKind("Stream"))},
		},
		Spec: v1alpha1.StreamTransferSpec{
			Stream: stream.Name, Source: stream.Status.Node, Target: m.target, ExpectedEpoch: &epoch,
			Force: m.cause == v1alpha1.CauseTakeover, TTLSecondsAfterFinished: new(keepFor),
		},
	}
}

const (
	maxNameLength  = 253
	maxLabelLength = 63
	hashLength     = 12
)

// transferName is stream-cause-epoch, shortened by a hash where the stream's name leaves no room.
func transferName(stream string, epoch int64, cause string) string {
	suffix := map[string]string{v1alpha1.CauseDrain: "-drain-", v1alpha1.CauseTakeover: "-takeover-"}[cause] + strconv.FormatInt(epoch, 10)
	return shortened(stream, maxNameLength-len(suffix)) + suffix
}

func labelValue(value string) string { return shortened(value, maxLabelLength) }

func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return text[:limit-hashLength-1] + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// makeRoom deletes an earlier transfer of the same name that has ended.
func (r *Reconciler) makeRoom(ctx context.Context, wanted *v1alpha1.StreamTransfer) error {
	existing := &v1alpha1.StreamTransfer{}
	err := r.Client.Get(ctx, client.ObjectKeyFromObject(wanted), existing)
	if err != nil || !handoff.Terminal(existing) || existing.Labels[v1alpha1.LabelManagedBy] != wanted.Labels[v1alpha1.LabelManagedBy] {
		return client.IgnoreNotFound(err) //nolint:wrapcheck // a cache
	}
	if r.Now().Sub(handoff.EndedAt(existing)) < lookAgain {
		return nil // not again at once
	}
	err = r.Client.Delete(ctx, existing, client.Preconditions{UID: &existing.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting transfer %s, which ended: %w", existing.Name, err)
	}
	return nil
}

// cancelTransfer withdraws a transfer that has not started.
func (r *Reconciler) cancelTransfer(ctx context.Context, transfer *v1alpha1.StreamTransfer) error {
	err := r.Client.Patch(ctx, transfer, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"cancel":true}}`)))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cancelling transfer %s: %w", transfer.Name, err)
	}
	return nil
}
