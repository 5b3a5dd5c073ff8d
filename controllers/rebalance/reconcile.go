package rebalance

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/controllers/slots"
	"github.com/streamshift/streamshift/controllers/transfers"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/naming"
)

// +kubebuilder:rbac:groups=streamshift.io,resources=streamrebalances,verbs=get;list;watch
// +kubebuilder:rbac:groups=streamshift.io,resources=streamrebalances/status,verbs=update
// +kubebuilder:rbac:groups=streamshift.io,resources=streams,verbs=get;list;watch
// +kubebuilder:rbac:groups=streamshift.io,resources=streamnodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=streamshift.io,resources=streamtransfers,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconciler reconciles StreamRebalances.
type Reconciler struct {
	// Client reads from the cache and writes to the API server; Live reads from the API server.
	Client client.Client
	Live   client.Reader
	Views  *register.Streams
	Slots  *slots.Ledger
	Maker  *transfers.Maker
	Events events.EventRecorder
	Now    func() time.Time
}

const (
	// lookAgain is when a plan that is being carried out is looked at again.
	lookAgain = time.Second
	// lookAtTheClock bounds how long nothing is looked at, for a schedule's sake.
	lookAtTheClock = 10 * time.Minute
)

// Reconcile observes, decides and acts on one rebalance.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	v, err := r.observe(ctx, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("observing rebalance %s: %w", request, err)
	}
	if v == nil {
		return ctrl.Result{}, nil
	}
	d := decide(v)
	ctrl.LoggerFrom(ctx).V(2).Info("Decided", "action", int(d.action), "reason", d.reason, "message", d.message)
	err = r.act(ctx, v, d)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return ctrl.Result{RequeueAfter: lookAgain}, nil // somebody was faster
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("acting on rebalance %s: %w", request, err)
	}
	return ctrl.Result{RequeueAfter: wakeAfter(v, d)}, nil
}

// wakeAfter returns when a rebalance is to be looked at though nothing changes: 0 for never.
func wakeAfter(v *view, d decision) time.Duration {
	switch {
	case d.action != wait:
		return lookAgain
	case v.object.Spec.Schedule == "" || v.next.IsZero():
		return 0
	}
	wake := v.next.Sub(v.now)
	if next := v.object.Status.NextRun; next != nil {
		wake = next.Sub(v.now)
	}
	if run := v.object.Status.Run; run != nil && run.EndedAt == nil && v.object.Spec.WindowMinutes > 0 {
		wake = min(wake, run.PlannedAt.Add(time.Duration(v.object.Spec.WindowMinutes)*time.Minute).Sub(v.now))
	}
	return max(min(wake, lookAtTheClock), time.Millisecond)
}

// act carries a decision out, and writes how the rebalance stands.
func (r *Reconciler) act(ctx context.Context, v *view, d decision) error {
	switch d.action {
	case makeAPlan:
		return r.plan(ctx, v, d)
	case execute:
		var errs []error
		for _, index := range d.start {
			errs = append(errs, r.start(ctx, v, &v.plan.Moves[index]))
		}
		if err := errors.Join(errs...); err != nil {
			return err
		}
	case wait, begin, end:
	}
	return r.write(ctx, v, d, nil)
}

// plan makes a plan, keeps it, and shows it. What is kept before it is shown is found again by its hash.
func (r *Reconciler) plan(ctx context.Context, v *view, d decision) error {
	w, err := r.observeWorld(ctx)
	if err != nil {
		return err
	}
	made, err := makePlan(v.object, w)
	if err != nil {
		d.action, d.phase, d.reason, d.message = end, v1alpha1.RebalanceFailed, v1alpha1.ReasonInvalidSpec, err.Error()
		return r.write(ctx, v, d, nil)
	}
	if err := r.keep(ctx, v.object, made); err != nil {
		return err
	}
	d.message = fmt.Sprintf("plan %s has %d moves: the most uneven node is %d %% from its fair share, and %d %% afterwards; %s",
		made.hash(), len(made.Moves), made.Before, made.After, made.End)
	before := v.object.Status.PlanHash
	if err := r.write(ctx, v, d, made); err != nil {
		return err
	}
	r.Events.Eventf(v.object, nil, corev1.EventTypeNormal, v1alpha1.ReasonPlanned, "Plan", "%s", sentence(d.message))
	ctrl.LoggerFrom(ctx).Info("Planned", "plan", made.hash(), "moves", len(made.Moves), "beforePercent", made.Before, "afterPercent", made.After)
	if before != "" && before != made.hash() {
		return r.drop(ctx, v.object, before)
	}
	return nil
}

// start makes the transfer of a move. The stream is given as the plan saw it: the transfer's preconditions are the plan's.
func (r *Reconciler) start(ctx context.Context, v *view, move *v1alpha1.RebalanceMove) error {
	stream := v1alpha1.Stream{}
	stream.Namespace, stream.Name, stream.UID = v.object.Namespace, move.Stream, move.StreamUID
	stream.Status.Node, stream.Status.Epoch = move.Source, move.Epoch
	return r.Maker.Make(ctx, &transfers.Move{
		Stream: stream, Target: move.Target, Cause: v1alpha1.CauseRebalance,
		Labels:      map[string]string{v1alpha1.LabelRebalance: naming.Label(v.object.Name), v1alpha1.LabelPlan: v.object.Status.PlanHash},
		Annotations: map[string]string{v1alpha1.AnnotationCoolDown: strconv.Itoa(int(move.CoolDownSeconds))},
		// It is the memory of the cool-down, which counts until twice of it has passed.
		KeepSeconds: 2 * move.CoolDownSeconds,
	})
}

// write writes the status where it changes. The object's version is tested: two managers never write over each other.
func (r *Reconciler) write(ctx context.Context, v *view, d decision, planned *plan) error {
	next := statusOf(v, d, planned)
	if equality.Semantic.DeepEqual(next, v.object.Status) {
		return nil
	}
	before := v.object.Status.DeepCopy()
	updated := v.object.DeepCopy()
	updated.Status = next
	if err := r.Client.Status().Update(ctx, updated); err != nil {
		return err //nolint:wrapcheck // told apart by its caller, who says what was being done
	}
	v.object.Status = next
	r.tellChange(ctx, v.object, before, d)
	return nil
}

// tellChange makes one event and one line of log where the phase or the reason changed.
func (r *Reconciler) tellChange(ctx context.Context, object *v1alpha1.StreamRebalance, before *v1alpha1.StreamRebalanceStatus, d decision) {
	was, _ := condition.Get(before.Conditions, v1alpha1.ConditionReady)
	if d.phase == "" || d.action == makeAPlan || before.Phase == d.phase && was.Reason == d.reason {
		return
	}
	kind := corev1.EventTypeNormal
	if d.phase == v1alpha1.RebalanceFailed || d.phase == v1alpha1.RebalanceStale {
		kind = corev1.EventTypeWarning
	}
	r.Events.Eventf(object, nil, kind, d.reason, "Rebalance", "%s", sentence(d.message))
	ctrl.LoggerFrom(ctx).Info("Rebalance changed", "phase", string(d.phase), "plan", object.Status.PlanHash, "reason", d.reason, "message", d.message)
}
