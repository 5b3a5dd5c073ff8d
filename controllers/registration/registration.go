package registration

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// ErrReplaced tells that a newer process runs under the node's name: this one must stop serving and exit.
var ErrReplaced = errors.New("a newer process has registered under the name of this node")

// +kubebuilder:rbac:groups=streamshift.io,resources=streamnodes,verbs=get;create
// +kubebuilder:rbac:groups=streamshift.io,resources=streamnodes/status,verbs=patch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=get;create;update,namespace=streamshift-node-lease

// Agent keeps one node registered.
type Agent struct {
	// Client reads and writes the API server without a cache.
	Client client.Client
	// Node is the node's name; Instance the identity of this process; Address the base URL that it serves under.
	Node, Instance, Address string
	// Slots that the node has where it is registered for the first time. Afterwards they are the user's.
	Slots int32
	// LeaseDuration is written into the lease; RenewEvery is how often it is renewed.
	LeaseDuration, RenewEvery time.Duration
	// CheckStore asks the object store for a sign of life.
	CheckStore func(context.Context) error
	// CheckStoreEvery is how often.
	CheckStoreEvery time.Duration
	Now             func() time.Time
	Log             logr.Logger

	startedAt metav1.Time
	lease     *coordinationv1.Lease
	reported  string
	renewedAt time.Time
}

// fieldOwner is the field manager of the agent's part of the status.
const fieldOwner = client.FieldOwner("streamshift-node")

// Start registers the node and keeps it registered until the context ends. It returns ErrReplaced where a newer process
// has taken the name; an API server or an object store that is away is waited for.
func (a *Agent) Start(ctx context.Context) error {
	a.startedAt = metav1.NewTime(a.Now().Truncate(time.Second))
	tick := time.NewTicker(a.RenewEvery)
	defer tick.Stop()
	var checked time.Time
	registered := false
	for {
		if a.Now().Sub(checked) >= a.CheckStoreEvery || !registered {
			checked = a.Now()
			if err := a.report(ctx, !registered, a.checkStore(ctx)); err != nil {
				a.Log.Error(err, "Cannot report the node's state")
			} else {
				registered = true
			}
		}
		if registered {
			switch err := a.renew(ctx); {
			case errors.Is(err, ErrReplaced):
				return err
			case err != nil && ctx.Err() == nil:
				a.Log.Error(err, "Cannot renew the lease", "lastRenewed", a.renewedAt)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// checkStore returns one sentence on what is wrong with the object store; empty where it answers.
func (a *Agent) checkStore(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, a.RenewEvery)
	defer cancel()
	if err := a.CheckStore(ctx); err != nil {
		return "The agent cannot use the object store: " + err.Error() + "."
	}
	return ""
}

// report writes the agent's part of the status where it changed, and makes the StreamNode where there is none.
func (a *Agent) report(ctx context.Context, first bool, problem string) error {
	if !first && problem == a.reported {
		return nil
	}
	if first {
		node := &v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: a.Node}, Spec: v1alpha1.StreamNodeSpec{Slots: a.Slots}}
		if err := a.Client.Create(ctx, node); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("registering node %s: %w", a.Node, err)
		}
	}
	status, reason, message := "True", v1alpha1.ReasonAsExpected, "The agent reaches the object store."
	if problem != "" {
		status, reason, message = "False", v1alpha1.ReasonStoreUnreachable, problem
	}
	apply := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "StreamNode",
		"metadata": map[string]any{"name": a.Node},
		"status": map[string]any{
			"address": a.Address, "instance": a.Instance, "startedAt": a.startedAt.UTC().Format(time.RFC3339),
			"conditions": []any{map[string]any{
				"type": v1alpha1.ConditionObjectStoreReachable, "status": status, "reason": reason, "message": message,
				"lastTransitionTime": a.Now().UTC().Format(time.RFC3339),
			}},
		},
	}}
	if err := a.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(apply), fieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("writing the status of node %s: %w", a.Node, err)
	}
	a.reported = problem
	a.Log.Info("Reported node", "objectStoreReachable", status, "message", message)
	return nil
}

// renew renews the lease. The first renewal takes it over from an earlier process of the node, whose next one is refused.
func (a *Agent) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.RenewEvery)
	defer cancel()
	if a.lease == nil {
		return a.acquire(ctx)
	}
	next := a.lease.DeepCopy()
	next.Spec.RenewTime = new(metav1.NewMicroTime(a.Now()))
	err := a.Client.Update(ctx, next)
	switch {
	case err == nil:
		a.lease, a.renewedAt = next, a.Now()
		return nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		a.lease = nil
		return a.checkHolder(ctx)
	}
	return fmt.Errorf("renewing lease: %w", err)
}

func (a *Agent) acquire(ctx context.Context) error {
	key := client.ObjectKey{Namespace: v1alpha1.NodeLeaseNamespace, Name: a.Node}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	err := a.Client.Get(ctx, key, lease)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading lease: %w", err)
	}
	seconds := int32(a.LeaseDuration / time.Second)
	lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &a.Instance, LeaseDurationSeconds: &seconds, RenewTime: new(metav1.NewMicroTime(a.Now())),
	}
	write := func() error { return a.Client.Update(ctx, lease) }
	if apierrors.IsNotFound(err) {
		write = func() error { return a.Client.Create(ctx, lease) }
	}
	if err := write(); err != nil {
		return fmt.Errorf("acquiring lease: %w", err)
	}
	a.lease, a.renewedAt = lease, a.Now()
	return nil
}

// checkHolder tells whether another process of this name has the lease now.
func (a *Agent) checkHolder(ctx context.Context) error {
	node := &v1alpha1.StreamNode{}
	if err := a.Client.Get(ctx, client.ObjectKey{Name: a.Node}, node); err != nil {
		return fmt.Errorf("reading node %s: %w", a.Node, err)
	}
	if node.Status.Instance != a.Instance {
		return fmt.Errorf("%w: %s runs as instance %s, this process is %s", ErrReplaced, a.Node, node.Status.Instance, a.Instance)
	}
	return nil
}
