package registration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
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
	// HoldsSessions tells whether any session of a stream is open.
	HoldsSessions func() bool
	Now           func() time.Time
	Log           logr.Logger

	startedAt metav1.Time
	lease     *coordinationv1.Lease
	// renewedAt is when the last renewal that was answered was sent.
	renewedAt atomic.Pointer[time.Time]

	mu       sync.Mutex
	known    state
	reported *state
	// holds is whether sessions were open at the last look, and heldSince since when that is so.
	holds     bool
	heldSince time.Time
}

// state is what the agent says of its node.
type state struct {
	// problem is one sentence on what is wrong with the object store; empty where it answers.
	problem                 string
	holdsSessions, stopping bool
	// stopsAt is when the streams must have left, in RFC 3339; empty where the agent is not stopping.
	stopsAt string
}

// watchSessionsEvery is how often the agent looks whether it still holds sessions; it tells only of a change.
const watchSessionsEvery = 250 * time.Millisecond

// settleSessions is for how long a change must last before it is told: a node whose only stream goes and comes makes no
// write of that.
const settleSessions = time.Second

// fieldOwner is the field manager of the agent's part of the status.
const fieldOwner = client.FieldOwner("streamshift-node")

// Start registers the node and keeps it registered until the context ends. It returns ErrReplaced where a newer process
// has taken the name; an API server or an object store that is away is waited for.
func (a *Agent) Start(ctx context.Context) error {
	a.startedAt = metav1.NewTime(a.Now().Truncate(time.Second))
	renewals, looks := time.NewTicker(a.RenewEvery), time.NewTicker(watchSessionsEvery)
	defer renewals.Stop()
	defer looks.Stop()
	var checked time.Time
	for {
		if a.Now().Sub(checked) >= a.CheckStoreEvery {
			checked = a.Now()
			problem := a.checkStore(ctx)
			a.note(func(s *state) { s.problem = problem })
		}
		a.reportOrLog(ctx)
		if a.registered() {
			switch err := a.renew(ctx); {
			case err == nil:
				a.lookForNode(ctx)
			case errors.Is(err, ErrReplaced):
				return err
			case ctx.Err() == nil:
				a.Log.Error(err, "Cannot renew the lease", "lapsed", a.LeaseLapsed())
			}
		}
		for renew := false; !renew; {
			select {
			case <-ctx.Done():
				return nil
			case <-renewals.C:
				renew = true
			case <-looks.C:
				a.reportOrLog(ctx)
			}
		}
	}
}

// Leave says that the agent is about to end and wants its streams transferred away, by the context's deadline.
func (a *Agent) Leave(ctx context.Context) error {
	a.note(func(s *state) {
		s.stopping = true
		if deadline, bounded := ctx.Deadline(); bounded {
			s.stopsAt = deadline.UTC().Format(time.RFC3339)
		}
	})
	return a.report(ctx)
}

func (a *Agent) note(change func(*state)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.known)
}

// Check is a readiness check: the node is registered by this process.
func (a *Agent) Check(*http.Request) error {
	if !a.registered() {
		return errors.New("the node is not registered yet")
	}
	return nil
}

func (a *Agent) registered() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.reported != nil
}

// reportOrLog gives an API server that is away no longer than a renewal may take: the lease must not wait for it.
func (a *Agent) reportOrLog(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.RenewEvery)
	defer cancel()
	if err := a.report(ctx); err != nil && !errors.Is(err, context.Canceled) {
		a.Log.Error(err, "Cannot report the node's state")
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
func (a *Agent) report(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lookAtSessions()
	if a.reported != nil && *a.reported == a.known {
		return nil
	}
	if a.reported == nil {
		node := &v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: a.Node}, Spec: v1alpha1.StreamNodeSpec{Slots: a.Slots}}
		if err := a.Client.Create(ctx, node); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("registering node %s: %w", a.Node, err)
		}
	}
	told := a.known
	if err := a.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(a.status(told)), fieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("writing the status of node %s: %w", a.Node, err)
	}
	a.reported = &told
	a.Log.Info("Reported node", "storeProblem", told.problem, "holdsSessions", told.holdsSessions, "stopping", told.stopping)
	return nil
}

// lookForNode has the node registered again where somebody deleted it: sooner than requests for its streams, whose way is not known
// meanwhile, are given up. An API server that does not answer says nothing of that.
func (a *Agent) lookForNode(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, a.RenewEvery)
	defer cancel()
	if err := a.Client.Get(ctx, client.ObjectKey{Name: a.Node}, &v1alpha1.StreamNode{}); apierrors.IsNotFound(err) {
		a.Log.Info("Registering the node again, since its StreamNode was deleted")
		a.mu.Lock()
		defer a.mu.Unlock()
		a.reported = nil
	}
}

// lookAtSessions takes in whether sessions are open, once that has lasted.
func (a *Agent) lookAtSessions() {
	if holds := a.HoldsSessions(); holds != a.holds {
		a.holds, a.heldSince = holds, a.Now()
	}
	if a.Now().Sub(a.heldSince) >= settleSessions {
		a.known.holdsSessions = a.holds
	}
}

func (a *Agent) status(s state) *unstructured.Unstructured {
	reachable, reason, message := "True", v1alpha1.ReasonAsExpected, "The agent reaches the object store."
	if s.problem != "" {
		reachable, reason, message = "False", v1alpha1.ReasonStoreUnreachable, s.problem
	}
	status := map[string]any{
		"address": a.Address, "instance": a.Instance, "startedAt": a.startedAt.UTC().Format(time.RFC3339),
		"holdsSessions": s.holdsSessions, "stopping": s.stopping,
		"conditions": []any{map[string]any{
			"type": v1alpha1.ConditionObjectStoreReachable, "status": reachable, "reason": reason, "message": message,
			"lastTransitionTime": a.Now().UTC().Format(time.RFC3339),
		}},
	}
	if s.stopsAt != "" {
		status["stopsAt"] = s.stopsAt
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "StreamNode",
		"metadata": map[string]any{"name": a.Node}, "status": status,
	}}
}

// renew renews the lease. The first renewal takes it over from an earlier process of the node, whose next one is refused.
func (a *Agent) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, a.RenewEvery)
	defer cancel()
	if a.lease == nil {
		return a.acquire(ctx)
	}
	sent := a.Now()
	next := a.lease.DeepCopy()
	next.Spec.RenewTime = new(metav1.NewMicroTime(a.Now()))
	err := a.Client.Update(ctx, next)
	switch {
	case err == nil:
		a.lease = next
		a.renewedAt.Store(&sent)
		return nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		a.lease = nil
		return a.checkHolder(ctx)
	}
	return fmt.Errorf("renewing lease: %w", err)
}

func (a *Agent) acquire(ctx context.Context) error {
	sent := a.Now()
	key := client.ObjectKey{Namespace: v1alpha1.NodeLeaseNamespace, Name: a.Node}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	err := a.Client.Get(ctx, key, lease)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading lease: %w", err)
	}
	seconds := int32(a.LeaseDuration / time.Second) //nolint:gosec // a flag of some seconds
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
	a.lease = lease
	a.renewedAt.Store(&sent)
	return nil
}

// LeaseLapsed tells whether the node's lease has run out as it knows it: counted from when the last renewal that was
// answered was sent, so that nobody else takes it for run out any earlier. A node that never had one has none to lose.
func (a *Agent) LeaseLapsed() bool {
	sent := a.renewedAt.Load()
	return sent != nil && a.Now().Sub(*sent) >= a.LeaseDuration
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
