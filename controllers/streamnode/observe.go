package streamnode

import (
	"context"
	"fmt"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/drain"
	"github.com/streamshift/streamshift/controllers/slots"
	"github.com/streamshift/streamshift/internal/liveness"
	"github.com/streamshift/streamshift/internal/placement"
)

// view is everything that a decision about a node is made from.
type view struct {
	node *v1alpha1.StreamNode
	// kubernetesNode of the same name; nil where there is none.
	kubernetesNode *corev1.Node
	// lease tells how the node's lease stands; nil where there is none.
	lease *liveness.Verdict
	usage slots.Usage
	// drainReason and drainMessage say why streams leave the node; empty: they need not.
	drainReason, drainMessage string
}

func (r *Reconciler) observe(ctx context.Context, name string) (*view, error) {
	node := &v1alpha1.StreamNode{}
	if err := r.Client.Get(ctx, client.ObjectKey{Name: name}, node); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	v := &view{node: node, usage: r.Slots.Usage(name)}
	kubernetesNode := &corev1.Node{}
	switch err := r.Client.Get(ctx, client.ObjectKey{Name: name}, kubernetesNode); {
	case err == nil:
		v.kubernetesNode = kubernetesNode
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("reading Kubernetes node: %w", err)
	}
	v.drainReason, v.drainMessage = placement.DrainIntent(drain.SignalsOf(node, v.kubernetesNode), r.Taints)
	lease := &coordinationv1.Lease{}
	switch err := r.Client.Get(ctx, client.ObjectKey{Namespace: v1alpha1.NodeLeaseNamespace, Name: name}, lease); {
	case err == nil:
		verdict := liveness.Judge(r.leases.sinceChange(lease, r.Now()), r.LeaseLimits)
		v.lease = &verdict
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("reading lease: %w", err)
	}
	return v, nil
}

// leases remembers when each lease was last seen to change. A manager that has just started has seen every lease change
// now: it gives each node a whole lease duration.
type leases struct {
	mu   sync.Mutex
	seen map[string]seenLease
}

type seenLease struct {
	version string
	at      time.Time
}

func (l *leases) sinceChange(lease *coordinationv1.Lease, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	known, found := l.seen[lease.Name]
	if !found || known.version != lease.ResourceVersion {
		known = seenLease{version: lease.ResourceVersion, at: now}
		if l.seen == nil {
			l.seen = map[string]seenLease{}
		}
		l.seen[lease.Name] = known
	}
	return now.Sub(known.at)
}
