package streamtransfer

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/controllers/slots"
	"github.com/streamshift/streamshift/internal/admission"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/handoff"
)

// observe reads everything that a decision about the transfer is made from.
func (r *Reconciler) observe(ctx context.Context, transfer *v1alpha1.StreamTransfer) (handoff.TransferView, error) {
	v := handoff.TransferView{View: admission.View{Transfer: transfer}, Now: r.Now()}
	if handoff.Terminal(transfer) {
		return v, nil
	}
	var err error
	if v.View, err = admissionView(ctx, r.Client, r.Views, r.Slots, transfer); err != nil {
		return v, err
	}
	if v.Stream == nil {
		// A transfer that is applied together with its stream may be in the cache before it.
		if v.View, err = admissionView(ctx, r.Live, r.Views, r.Slots, transfer); err != nil || v.Stream == nil {
			return v, err
		}
	}
	if v.SourceGone, err = r.sourceGone(ctx, v.Stream.Status.Node); err != nil {
		return v, err
	}
	v.LastSettled, err = r.lastSettled(ctx, v.Stream)
	return v, err
}

// sourceGone tells whether a node cannot be expected to close its streams: it is not registered, its lease has run out,
// or its Kubernetes node is marked out of service.
func (r *Reconciler) sourceGone(ctx context.Context, name string) (bool, error) {
	if name == "" {
		return false, nil
	}
	node := &v1alpha1.StreamNode{}
	switch err := r.Client.Get(ctx, client.ObjectKey{Name: name}, node); {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading node %s: %w", name, err)
	}
	return condition.NodeGone(node), nil
}

// admissionView reads what admission judges a transfer by.
func admissionView(
	ctx context.Context, reader client.Reader, views *register.Streams, ledger *slots.Ledger, transfer *v1alpha1.StreamTransfer,
) (admission.View, error) {
	v := admission.View{Transfer: transfer, TargetUsed: ledger.Usage(transfer.Spec.Target).Taken()}
	stream := &v1alpha1.Stream{}
	switch err := reader.Get(ctx, client.ObjectKey{Namespace: transfer.Namespace, Name: transfer.Spec.Stream}, stream); {
	case err == nil:
		v.Stream = views.Newest(stream)
	case !apierrors.IsNotFound(err):
		return v, fmt.Errorf("reading stream %s: %w", transfer.Spec.Stream, err)
	}
	target := &v1alpha1.StreamNode{}
	switch err := reader.Get(ctx, client.ObjectKey{Name: transfer.Spec.Target}, target); {
	case err == nil:
		v.Target = target
	case !apierrors.IsNotFound(err):
		return v, fmt.Errorf("reading node %s: %w", transfer.Spec.Target, err)
	}
	return v, nil
}

// lastSettled tells whether the outcome of the stream's last transfer is recorded, or nobody is left to record it for.
func (r *Reconciler) lastSettled(ctx context.Context, stream *v1alpha1.Stream) (bool, error) {
	last, err := r.lastTransfer(ctx, stream)
	return last == nil || handoff.Terminal(last), err
}

// lastTransfer returns the StreamTransfer of the stream's last completion; nil where there is none any more.
func (r *Reconciler) lastTransfer(ctx context.Context, stream *v1alpha1.Stream) (*v1alpha1.StreamTransfer, error) {
	last := stream.Status.LastTransfer
	if last == nil {
		return nil, nil
	}
	transfer := &v1alpha1.StreamTransfer{}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: stream.Namespace, Name: last.Name}, transfer)
	switch {
	case apierrors.IsNotFound(err), err == nil && transfer.UID != last.UID:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading transfer %s: %w", last.Name, err)
	}
	return r.Written.Newest(transfer), nil
}
