package transfers

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/crashpoint"
	"github.com/streamshift/streamshift/internal/handoff"
	"github.com/streamshift/streamshift/internal/naming"
)

// +kubebuilder:rbac:groups=streamshift.io,resources=streamtransfers,verbs=get;list;watch;create;patch;delete

const (
	// keepFor is for how many seconds transfers of the operator's making are kept after their end.
	keepFor int32 = 3600
	// retryAfter is for how long one that ended without transferring its stream keeps the next try waiting.
	retryAfter = time.Second
)

// Move is a transfer to be made: the stream, as the decision saw it, shall go to the target.
type Move struct {
	Stream v1alpha1.Stream
	Target string
	// Cause is one of the Cause constants of the API.
	Cause string
	// Labels and Annotations are added to the transfer's own.
	Labels, Annotations map[string]string
	// KeepSeconds is for how long it is kept after its end, where that is longer than for others.
	KeepSeconds int32
}

// Maker makes and cancels transfers.
type Maker struct {
	Client client.Client
	// Validate is the webhook's judgement of a transfer that is about to be made.
	Validate func(context.Context, *v1alpha1.StreamTransfer) error
	Now      func() time.Time

	mu sync.Mutex
	// made is when the transfers were made that the watch may not have shown yet, as namespace/name.
	made map[string]time.Time
}

// Make makes the transfer, or does nothing where it exists or would be refused: the next pass decides again. Its name
// follows from the stream, its epoch and the cause, so that a second manager, or a second pass from an older view, makes the
// same one. One that ended without moving the stream makes room for the next try.
func (m *Maker) Make(ctx context.Context, move *Move) error {
	transfer := newTransfer(move)
	if m.justMade(transfer) {
		return nil
	}
	crashpoint.Pass(crashpoint.TransferCreatedBefore)
	err := m.Validate(ctx, transfer)
	if err == nil {
		err = m.Client.Create(ctx, transfer)
	}
	crashpoint.Pass(crashpoint.TransferCreatedAfter)
	switch {
	case err == nil:
		m.note(transfer)
		ctrl.LoggerFrom(ctx).V(1).Info("Made transfer", "stream", move.Stream.Name, "source", move.Stream.Status.Node, "target", move.Target, "cause", move.Cause)
		return nil
	case apierrors.IsAlreadyExists(err):
		return m.makeRoom(ctx, transfer)
	case apierrors.IsForbidden(err):
		// The register, or a node, has changed since the decision.
		ctrl.LoggerFrom(ctx).V(1).Info("Deciding again", "stream", move.Stream.Name, "reason", err.Error())
		return nil
	}
	return fmt.Errorf("making transfer of stream %s/%s: %w", move.Stream.Namespace, move.Stream.Name, err)
}

// justMade tells whether this process made the transfer so lately that the caller may not have seen it.
func (m *Maker) justMade(transfer *v1alpha1.StreamTransfer) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, found := m.made[transfer.Namespace+"/"+transfer.Name]
	return found && m.Now().Sub(at) < retryAfter
}

func (m *Maker) note(transfer *v1alpha1.StreamTransfer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.Now()
	maps.DeleteFunc(m.made, func(_ string, at time.Time) bool { return now.Sub(at) >= retryAfter })
	if m.made == nil {
		m.made = map[string]time.Time{}
	}
	m.made[transfer.Namespace+"/"+transfer.Name] = now
}

func newTransfer(move *Move) *v1alpha1.StreamTransfer {
	stream := &move.Stream
	epoch := stream.Status.Epoch
	labels := map[string]string{
		v1alpha1.LabelManagedBy: "streamshift", v1alpha1.LabelCause: move.Cause, v1alpha1.LabelStream: naming.Label(stream.Name),
		v1alpha1.LabelSourceNode: naming.Label(stream.Status.Node), v1alpha1.LabelTargetNode: naming.Label(move.Target),
	}
	maps.Copy(labels, move.Labels)
	return &v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: stream.Namespace, Name: Name(stream.Name, epoch, move.Cause), Labels: labels, Annotations: move.Annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(stream, v1alpha1.GroupVersion.WithKind("Stream"))},
		},
		Spec: v1alpha1.StreamTransferSpec{
			Stream: stream.Name, Source: stream.Status.Node, Target: move.Target, ExpectedEpoch: &epoch,
			Force: move.Cause == v1alpha1.CauseTakeover, TTLSecondsAfterFinished: new(max(keepFor, move.KeepSeconds)),
		},
	}
}

// Name is stream-cause-epoch, shortened where the stream's name leaves no room.
func Name(stream string, epoch int64, cause string) string {
	return naming.Object("", stream, "-"+strings.ToLower(cause)+"-"+strconv.FormatInt(epoch, 10))
}

// makeRoom deletes an earlier transfer of the same name that has ended.
func (m *Maker) makeRoom(ctx context.Context, wanted *v1alpha1.StreamTransfer) error {
	existing := &v1alpha1.StreamTransfer{}
	err := m.Client.Get(ctx, client.ObjectKeyFromObject(wanted), existing)
	if err != nil || !handoff.Terminal(existing) || existing.Labels[v1alpha1.LabelManagedBy] != wanted.Labels[v1alpha1.LabelManagedBy] {
		return client.IgnoreNotFound(err) //nolint:wrapcheck // a cache
	}
	if m.Now().Sub(handoff.EndedAt(existing)) < retryAfter {
		return nil // not again at once
	}
	err = m.Client.Delete(ctx, existing, client.Preconditions{UID: &existing.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting transfer %s, which ended: %w", existing.Name, err)
	}
	return nil
}

// Cancel withdraws a transfer that has not started. The one given is not changed: it may be a cache's own.
func (m *Maker) Cancel(ctx context.Context, transfer *v1alpha1.StreamTransfer) error {
	transfer = transfer.DeepCopy()
	err := m.Client.Patch(ctx, transfer, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"cancel":true}}`)))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("cancelling transfer %s: %w", transfer.Name, err)
	}
	return nil
}
