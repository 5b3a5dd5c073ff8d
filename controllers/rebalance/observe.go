package rebalance

import (
	"context"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/transfers"
)

// lookedAt bounds the moves that are looked at in one pass while a plan is carried out. It is more than can be under way.
const lookedAt = 512

// observe reads the view; nil where the rebalance is gone. The object is read from the API server, since each pass goes on from
// what the one before wrote.
func (r *Reconciler) observe(ctx context.Context, key client.ObjectKey) (*view, error) {
	object := &v1alpha1.StreamRebalance{}
	if err := r.Live.Get(ctx, key, object); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if !object.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	v := &view{object: object, now: r.Now()}
	v.next, v.invalid = nextRun(&object.Spec, v.now)
	run := object.Status.Run
	if run == nil || run.EndedAt != nil {
		return v, nil
	}
	var err error
	if v.plan, err = r.kept(ctx, object); err != nil || v.plan == nil {
		return v, err
	}
	if v.drains, err = r.drains(ctx); err != nil {
		return nil, err
	}
	left := v.plan.Moves[min(int(run.Settled), len(v.plan.Moves)):]
	switch {
	case run.StartedAt != nil:
		left = left[:min(len(left), lookedAt)]
	case object.Spec.Approval == v1alpha1.ApprovalManual && object.Spec.ApprovedPlan != object.Status.PlanHash:
		left = nil // how stale it is matters once it is approved
	}
	for i := range left {
		judged, err := r.judgeMove(ctx, object, &left[i])
		if err != nil {
			return nil, err
		}
		v.results = append(v.results, judged)
	}
	return v, nil
}

// nextRun returns the first time of the schedule after now, or what is wrong with it.
func nextRun(spec *v1alpha1.StreamRebalanceSpec, now time.Time) (next time.Time, invalid *field.Error) {
	if spec.Schedule == "" {
		return time.Time{}, nil
	}
	zone, err := time.LoadLocation(spec.TimeZone)
	if err != nil {
		return time.Time{}, field.Invalid(field.NewPath("spec", "timeZone"), spec.TimeZone, fmt.Sprintf("is not known: %v", err))
	}
	path := field.NewPath("spec", "schedule")
	schedule, err := cron.ParseStandard(spec.Schedule)
	if err != nil {
		return time.Time{}, field.Invalid(path, spec.Schedule, fmt.Sprintf("cannot be read: %v", err))
	}
	if next = schedule.Next(now.In(zone)); next.IsZero() {
		return next, field.Invalid(path, spec.Schedule, "has no time in the next years")
	}
	return next.UTC(), nil
}

// drains tells whether streams that can leave are to leave a node.
func (r *Reconciler) drains(ctx context.Context) (bool, error) {
	nodes := &v1alpha1.StreamNodeList{}
	if err := r.Client.List(ctx, nodes); err != nil {
		return false, fmt.Errorf("listing nodes: %w", err)
	}
	for i := range nodes.Items {
		if drain := nodes.Items[i].Status.Drain; drain != nil && drain.Remaining > drain.Blocked {
			return true, nil
		}
	}
	return false, nil
}

func (r *Reconciler) judgeMove(ctx context.Context, object *v1alpha1.StreamRebalance, move *v1alpha1.RebalanceMove) (result, error) {
	v := &moveView{move: *move, targetUsed: r.Slots.Usage(move.Target).Taken()}
	stream := &v1alpha1.Stream{}
	if found, err := r.read(ctx, client.ObjectKey{Namespace: object.Namespace, Name: move.Stream}, stream); err != nil {
		return result{}, err
	} else if found {
		v.stream = r.Views.Newest(stream)
	}
	transfer := &v1alpha1.StreamTransfer{}
	name := transfers.Name(move.Stream, move.Epoch, v1alpha1.CauseRebalance)
	if found, err := r.read(ctx, client.ObjectKey{Namespace: object.Namespace, Name: name}, transfer); err != nil {
		return result{}, err
	} else if found {
		v.transfer = transfer
	}
	target := &v1alpha1.StreamNode{}
	if found, err := r.read(ctx, client.ObjectKey{Name: move.Target}, target); err != nil {
		return result{}, err
	} else if found {
		v.target = target
	}
	return judge(v, object.Status.PlanHash), nil
}

// read tells whether the object is there.
func (r *Reconciler) read(ctx context.Context, key client.ObjectKey, object client.Object) (bool, error) {
	err := r.Client.Get(ctx, key, object)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("reading %s: %w", key, err)
	}
	return err == nil, nil
}
