package stream

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/handoff"
	"github.com/streamshift/streamshift/internal/placement"
)

// view is everything that a decision about a stream is made from.
type view struct {
	stream *v1alpha1.Stream
	// nodes that the stream could be placed on; read only where it has no owner.
	nodes []placement.Node
	// orphaned tells that the pending record's transfer does not exist any more, or has ended.
	orphaned bool
}

// observe reads the view; nil where the stream is gone.
func (r *Reconciler) observe(ctx context.Context, key client.ObjectKey) (*view, error) {
	stream := &v1alpha1.Stream{}
	if err := r.Client.Get(ctx, key, stream); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	fresh, err := r.Slots.LearnLive(ctx, r.Live, stream)
	if err != nil {
		return nil, err //nolint:wrapcheck // says what it was doing
	}
	if fresh != nil {
		r.Views.Wrote(fresh)
	}
	v := &view{stream: r.Views.Newest(stream)}
	switch register := &v.stream.Status; {
	case register.Node == "":
		v.nodes, err = r.nodes(ctx)
	case register.PendingTransfer != nil:
		v.orphaned, err = r.orphaned(ctx, key.Namespace, register.PendingTransfer)
	}
	return v, err
}

func (r *Reconciler) nodes(ctx context.Context) ([]placement.Node, error) {
	list := &v1alpha1.StreamNodeList{}
	if err := r.Client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	nodes := make([]placement.Node, 0, len(list.Items))
	for i := range list.Items {
		nodes = append(nodes, r.Slots.Candidate(&list.Items[i]))
	}
	return nodes, nil
}

// orphaned asks the cache first. That a transfer is gone is believed only from the API server itself: a record that was
// just accepted can be in the cache before its transfer is.
func (r *Reconciler) orphaned(ctx context.Context, namespace string, pending *v1alpha1.PendingTransfer) (bool, error) {
	for _, reader := range []client.Reader{r.Client, r.Live} {
		transfer := &v1alpha1.StreamTransfer{}
		err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: pending.Name}, transfer)
		switch {
		case err == nil && transfer.UID == pending.UID:
			return handoff.Terminal(transfer), nil
		case err != nil && !apierrors.IsNotFound(err):
			return false, fmt.Errorf("reading transfer %s: %w", pending.Name, err)
		}
	}
	return true, nil
}
