package rebalance

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

// action is what the manager does next about a rebalance.
type action int

const (
	// wait does nothing but say how it stands.
	wait action = iota + 1
	// makeAPlan makes a plan of the cluster as it is.
	makeAPlan
	// begin marks the plan as being carried out.
	begin
	// execute makes the transfers that are due.
	execute
	// end records the outcome.
	end
)

// view is everything that a decision about a rebalance is made from.
type view struct {
	object *v1alpha1.StreamRebalance
	now    time.Time
	// next is the first time of the schedule after now; zero without a schedule. invalid says what is wrong with it.
	next    time.Time
	invalid *field.Error
	// plan is the one that status names; nil where there is none.
	plan *plan
	// results of the moves from run.settled on: of all that are left before the run has begun, of some afterwards.
	results []result
	// drains tells that streams are leaving a node, which goes first.
	drains bool
}

// decision is an action, the phase and reason that are shown, and one sentence.
type decision struct {
	action  action
	phase   v1alpha1.RebalancePhase
	reason  string
	message string
	// start are the indexes of the moves to be started.
	start []int
	// settle are the results, from the first unsettled move on, that are counted now.
	settle []result
	// leaveOut tells that every move that is left is skipped.
	leaveOut *result
}

// decide is pure.
func decide(v *view) decision {
	spec, status := &v.object.Spec, &v.object.Status
	if v.invalid != nil {
		if v.said(v1alpha1.ReasonInvalidSpec) {
			return decision{action: wait}
		}
		return decision{action: end, phase: v1alpha1.RebalanceFailed, reason: v1alpha1.ReasonInvalidSpec, message: v.invalid.Error()}
	}
	run := status.Run
	switch {
	case run == nil && spec.Schedule == "", v.due():
		if spec.Suspend {
			return decision{action: wait, phase: v1alpha1.RebalanceStopped, reason: v1alpha1.ReasonSuspended, message: "spec.suspend is set: no plan is made"}
		}
		return decision{action: makeAPlan, phase: v1alpha1.RebalancePlanning, reason: v1alpha1.ReasonPlanned, message: "a plan is being made"}
	case run == nil:
		return decision{action: wait, phase: v1alpha1.RebalancePlanning, reason: v1alpha1.ReasonScheduled, message: "the first plan is made at " + stamp(v.next)}
	case run.EndedAt != nil:
		return decision{action: wait} // the outcome stays as it is, until the next plan
	case v.plan == nil:
		return decision{action: end, phase: v1alpha1.RebalanceFailed, reason: v1alpha1.ReasonPlanGone,
			message: "the plan was deleted or changed by somebody: make another rebalance"}
	case len(v.plan.Moves) == 0:
		return decision{action: end, phase: v1alpha1.RebalanceSucceeded, reason: v1alpha1.ReasonNothingToDo, message: "there is nothing to do: " + v.plan.End}
	case run.StartedAt == nil:
		return v.beforeTheStart()
	}
	return v.running()
}

// said tells whether the conditions say this of the present spec.
func (v *view) said(reason string) bool {
	ready, _ := condition.Get(v.object.Status.Conditions, v1alpha1.ConditionReady)
	return ready.Reason == reason && ready.ObservedGeneration == v.object.Generation
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

// due tells whether the schedule asks for a plan: not while the one before is being carried out.
func (v *view) due() bool {
	status := &v.object.Status
	idle := status.Run == nil || status.Run.EndedAt != nil || status.Run.StartedAt == nil
	return v.object.Spec.Schedule != "" && idle && status.NextRun != nil && !v.now.Before(status.NextRun.Time)
}

// windowOver tells whether transfers may not start any more.
func (v *view) windowOver() bool {
	minutes := v.object.Spec.WindowMinutes
	return v.object.Spec.Schedule != "" && minutes > 0 && !v.now.Before(v.object.Status.Run.PlannedAt.Add(time.Duration(minutes)*time.Minute))
}

func (v *view) beforeTheStart() decision {
	spec, status := &v.object.Spec, &v.object.Status
	stale := 0
	for _, r := range v.results {
		if r.outcome == skipped {
			stale++
		}
	}
	switch {
	case spec.Suspend:
		return decision{action: wait, phase: v1alpha1.RebalanceStopped, reason: v1alpha1.ReasonSuspended, message: "spec.suspend is set: nothing is started"}
	case v.windowOver():
		return decision{action: end, phase: v1alpha1.RebalanceSucceeded, reason: v1alpha1.ReasonWindowOver,
			message:  fmt.Sprintf("the window ended before plan %s was approved", status.PlanHash),
			leaveOut: &result{skipped, v1alpha1.ReasonWindowOver, "the window ended before"}}
	case spec.Approval == v1alpha1.ApprovalManual && spec.ApprovedPlan == "":
		return decision{action: wait, phase: v1alpha1.RebalanceAwaitingApproval, reason: v1alpha1.ReasonAwaitingApproval,
			message: fmt.Sprintf("plan %s of %d moves is ready; set spec.approvedPlan to its name to carry it out", status.PlanHash, len(v.plan.Moves))}
	case spec.Approval == v1alpha1.ApprovalManual && spec.ApprovedPlan != status.PlanHash:
		return decision{action: wait, phase: v1alpha1.RebalanceAwaitingApproval, reason: v1alpha1.ReasonOtherApproved,
			message: fmt.Sprintf("spec.approvedPlan names %s, and the plan is %s", spec.ApprovedPlan, status.PlanHash)}
	case v.tooStale(stale):
		return decision{action: end, phase: v1alpha1.RebalanceStale, reason: v1alpha1.ReasonPlanStale, message: v.staleness(stale), settle: v.results}
	}
	return decision{action: begin, phase: v1alpha1.RebalanceExecuting, reason: v1alpha1.ReasonExecuting, message: "the plan is being carried out"}
}

func (v *view) tooStale(stale int) bool {
	return stale*100 > int(v.object.Spec.MaxStalePercent)*len(v.plan.Moves)
}

func (v *view) staleness(stale int) string {
	return fmt.Sprintf("%d of the plan's %d moves are stale, more than %d %%: make another rebalance", stale, len(v.plan.Moves), v.object.Spec.MaxStalePercent)
}

// running decides about a plan that is being carried out.
func (v *view) running() decision {
	spec, run := &v.object.Spec, v.object.Status.Run
	inFlight, stale, head, blocked := 0, int(run.Skipped), 0, false
	var ready []int
	for i, r := range v.results {
		switch r.outcome {
		case underWay:
			inFlight++
		case toStart:
			ready = append(ready, int(run.Settled)+i)
		case skipped:
			stale++
		case waits, succeeded, failed:
		}
		blocked = blocked || !r.outcome.settled()
		if !blocked {
			head = i + 1
		}
	}
	d := decision{phase: v1alpha1.RebalanceExecuting, reason: v1alpha1.ReasonExecuting, settle: v.results[:head]}
	d.message = v.progress(head, inFlight)
	stopping, over := spec.Suspend, v.windowOver()
	switch {
	case int(run.Settled)+head == len(v.plan.Moves):
		return v.ended(d)
	case v.tooStale(stale) && inFlight == 0:
		d.action, d.phase, d.reason, d.message = end, v1alpha1.RebalanceStale, v1alpha1.ReasonPlanStale, v.staleness(stale)
		d.settle = v.results
	case over && inFlight == 0:
		d.leaveOut = &result{skipped, v1alpha1.ReasonWindowOver, "the window ended before it was its turn"}
		return v.ended(d)
	case stopping && inFlight == 0:
		d.action, d.phase, d.reason = execute, v1alpha1.RebalanceStopped, v1alpha1.ReasonSuspended
		d.message = "spec.suspend is set: nothing more is started; " + d.message
	case v.tooStale(stale) || over || stopping:
		d.action = execute // what is under way ends; nothing is started
	case v.drains:
		d.action, d.reason, d.message = execute, v1alpha1.ReasonWaitsForDrains, "streams are leaving a node, which goes first; "+d.message
	default:
		d.action = execute
		d.start = ready[:min(len(ready), max(0, int(spec.MaxInFlight)-inFlight))]
	}
	return d
}

// progress says how far the run is, and how long the rest will take if it goes on as it did.
func (v *view) progress(head, inFlight int) string {
	run := v.object.Status.Run
	done, all := int(run.Settled)+head, len(v.plan.Moves)
	text := fmt.Sprintf("%d of %d moves have ended, %d are under way", done, all, inFlight)
	if elapsed := v.now.Sub(run.StartedAt.Time); done > 0 && done < all && elapsed > 0 {
		left := time.Duration(float64(elapsed) / float64(done) * float64(all-done))
		text += fmt.Sprintf("; the rest takes about %v", left.Round(time.Second))
	}
	return text
}

// ended decides the outcome once no move is left, or none may start any more.
func (v *view) ended(d decision) decision {
	run := v.object.Status.Run
	good, left, bad := int(run.Succeeded), int(run.Skipped)+len(v.plan.Moves)-int(run.Settled)-len(d.settle), int(run.Failed)
	for _, r := range d.settle {
		switch r.outcome {
		case succeeded:
			good++
		case skipped:
			left++
		case failed:
			bad++
		case toStart, waits, underWay: // they are not settled
		}
	}
	d.action, d.phase, d.reason = end, v1alpha1.RebalanceSucceeded, v1alpha1.ReasonSucceeded
	d.message = fmt.Sprintf("%d of %d moves succeeded, %d were skipped", good, len(v.plan.Moves), left)
	if bad > 0 {
		d.phase, d.reason = v1alpha1.RebalanceFailed, v1alpha1.ReasonMovesFailed
		d.message += fmt.Sprintf(", %d failed", bad)
	}
	return d
}
