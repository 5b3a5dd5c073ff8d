package guard

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/drain"
	"github.com/streamshift/streamshift/controllers/slots"
	"github.com/streamshift/streamshift/internal/placement"
)

// +kubebuilder:rbac:groups="",resources=pods,namespace=streamshift-system,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,namespace=streamshift-system,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=streamshift.io,resources=streamnodes,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler keeps a guard on each node that holds streams.
type Reconciler struct {
	Client client.Client
	Slots  *slots.Ledger
	Events events.EventRecorder
	Mode   Mode
	// Namespace is where guards and budgets are, Image what the guards run: the manager's own.
	Namespace, Image string
	// Grace is how long a Graceful guard waits for the streams at most.
	Grace time.Duration
	// Taints are the keys that drain a node.
	Taints []string
}

// Reconcile observes, decides and acts on one node's guard.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	v, err := r.observe(ctx, request.Name)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observing the guard of node %s: %w", request.Name, err)
	}
	if v == nil {
		return ctrl.Result{}, nil // guard and budget go with the node that owns them
	}
	next, reason := decide(v)
	if err := r.act(ctx, v, next, reason); err != nil {
		return ctrl.Result{}, fmt.Errorf("guarding node %s: %w", request.Name, err)
	}
	return ctrl.Result{}, nil
}

func (r *Reconciler) observe(ctx context.Context, name string) (*view, error) {
	v := &view{mode: r.Mode, usage: r.Slots.Usage(name)}
	node, kubernetesNode, pod, budget := &v1alpha1.StreamNode{}, &corev1.Node{}, &corev1.Pod{}, &policyv1.PodDisruptionBudget{}
	guard := client.ObjectKey{Namespace: r.Namespace, Name: nameOf(name)}
	found, errs := [4]bool{}, [4]error{}
	found[0], errs[0] = r.read(ctx, client.ObjectKey{Name: name}, node)
	found[1], errs[1] = r.read(ctx, client.ObjectKey{Name: name}, kubernetesNode)
	found[2], errs[2] = r.read(ctx, guard, pod)
	found[3], errs[3] = r.read(ctx, guard, budget)
	if err := errors.Join(errs[:]...); err != nil || !found[0] {
		return nil, err
	}
	v.node = node
	if found[1] {
		v.kubernetesNode = kubernetesNode
	}
	if found[2] {
		v.pod = pod
	}
	if found[3] {
		v.budget = budget
	}
	reason, _ := placement.DrainIntent(drain.SignalsOf(node, v.kubernetesNode), r.Taints)
	v.leaving = reason != ""
	v.wanted = r.pod(node, v.kubernetesNode)
	return v, nil
}

func (r *Reconciler) read(ctx context.Context, key client.ObjectKey, into client.Object) (found bool, err error) {
	err = r.Client.Get(ctx, key, into)
	return err == nil, client.IgnoreNotFound(err) //nolint:wrapcheck // a cache
}

func (r *Reconciler) act(ctx context.Context, v *view, next action, reason string) error {
	var err error
	switch next {
	case nothing:
		return nil
	case makeBudget:
		err = r.create(ctx, r.budget(v.node))
	case makePod:
		err = r.create(ctx, v.wanted)
	case liftBudget:
		if err = r.remove(ctx, v.budget, v.budget.UID); err == nil && v.leaving {
			r.Events.Eventf(v.node, nil, corev1.EventTypeNormal, "GuardLifted", "Drain", "No stream is left on the node: an eviction of its guard may go on.")
		}
	case deletePod:
		err = r.remove(ctx, v.pod, v.pod.UID)
	}
	if err == nil {
		ctrl.LoggerFrom(ctx).Info("Changed guard", "node", v.node.Name, "action", next.String(), "reason", reason)
	}
	return err
}

func (a action) String() string {
	return [...]string{"nothing", "make budget", "lift budget", "make pod", "delete pod"}[a]
}

func (r *Reconciler) create(ctx context.Context, object client.Object) error {
	if err := r.Client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("making %T %s: %w", object, object.GetName(), err)
	}
	return nil
}

func (r *Reconciler) remove(ctx context.Context, object client.Object, uid types.UID) error {
	if err := client.IgnoreNotFound(r.Client.Delete(ctx, object, client.Preconditions{UID: &uid})); err != nil {
		return fmt.Errorf("deleting %T %s: %w", object, object.GetName(), err)
	}
	return nil
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	byName := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: object.GetName()}}}
	})
	// What a node holds is counted in its status: a change of that is the event.
	err := ctrl.NewControllerManagedBy(mgr).
		Named("guard").
		For(&v1alpha1.StreamNode{}).
		Watches(&corev1.Node{}, byName).
		Owns(&corev1.Pod{}).
		Owns(&policyv1.PodDisruptionBudget{}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the guard controller: %w", err)
	}
	return nil
}
