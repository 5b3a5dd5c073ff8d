package rebalance

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

const (
	// maxMoves and maxExceptions are how many are shown.
	maxMoves      = 10
	maxExceptions = 5
	// maxExceptionMessage is the API's limit.
	maxExceptionMessage = 256
)

// statusOf returns the status that a decision leads to. Planned is the plan that was just made, or nil.
func statusOf(v *view, d decision, planned *plan) v1alpha1.StreamRebalanceStatus {
	next := *v.object.Status.DeepCopy()
	next.ObservedGeneration = v.object.Generation
	now := metav1.NewTime(v.now.Truncate(time.Second))
	if planned != nil {
		takePlan(&next, v, planned, now)
	}
	if due := next.NextRun; !v.next.IsZero() && (due == nil || (planned != nil || d.action == end) && !v.now.Before(due.Time)) {
		next.NextRun = &metav1.Time{Time: v.next} // times that passed meanwhile are left out
	}
	if next.Run != nil && next.Run.EndedAt == nil {
		settle(&next, v, d, now)
	} else if next.Run == nil && d.action == end {
		next.Run = &v1alpha1.RebalanceRun{PlannedAt: now, EndedAt: &now}
	}
	if d.phase == "" {
		return next // it stands as it stood
	}
	next.Phase = d.phase
	next.Conditions = condition.Merge(next.Conditions, v.object.Generation, now, conditionsOf(v, d)...)
	return next
}

func takePlan(next *v1alpha1.StreamRebalanceStatus, v *view, planned *plan, now metav1.Time) {
	next.PlanHash, next.Planned = planned.hash(), int32(len(planned.Moves)) //nolint:gosec // at most spec.maxMoves
	next.ImbalancePercent = &v1alpha1.Imbalance{Before: planned.Before, After: planned.After}
	next.Moves, next.Exceptions = planned.Moves[:min(len(planned.Moves), maxMoves)], nil
	next.Run = &v1alpha1.RebalanceRun{PlannedAt: now}
	if due := v.object.Status.NextRun; v.object.Spec.Schedule != "" && due != nil {
		next.Run.PlannedAt = *due
	}
}

// settle counts outcomes, and marks the beginning and the end.
func settle(next *v1alpha1.StreamRebalanceStatus, v *view, d decision, now metav1.Time) {
	run := next.Run
	for i, r := range d.settle {
		if r.outcome.settled() {
			count(next, nameOf(v, i), r)
		}
	}
	run.Settled += int32(len(d.settle)) //nolint:gosec // bounded by spec.maxMoves
	if d.leaveOut != nil {
		for i := int(run.Settled); i < len(v.plan.Moves); i++ {
			count(next, v.plan.Moves[i].Stream, *d.leaveOut)
		}
		run.Settled = int32(len(v.plan.Moves)) //nolint:gosec // as above
	}
	switch d.action {
	case begin:
		run.StartedAt = &now
	case end:
		run.EndedAt = &now
	case wait, makeAPlan, execute:
	}
}

func nameOf(v *view, result int) string {
	return v.plan.Moves[int(v.object.Status.Run.Settled)+result].Stream
}

func count(next *v1alpha1.StreamRebalanceStatus, stream string, r result) {
	switch r.outcome {
	case succeeded:
		next.Run.Succeeded++
		return
	case skipped:
		next.Run.Skipped++
	case failed:
		next.Run.Failed++
	case toStart, waits, underWay:
		return
	}
	if len(next.Exceptions) < maxExceptions {
		message := r.message[:min(len(r.message), maxExceptionMessage)]
		next.Exceptions = append(next.Exceptions, v1alpha1.MoveOutcome{Stream: stream, Reason: r.reason, Message: strings.ToValidUTF8(message, "")})
	}
}

// conditionsOf says how a rebalance stands as kstatus means it. With a schedule one is ready while it waits for the next time.
func conditionsOf(v *view, d decision) []condition.Condition {
	message := sentence(d.message)
	ready, reconciling, stalled := metav1.ConditionFalse, metav1.ConditionTrue, metav1.ConditionFalse
	switch d.phase {
	case v1alpha1.RebalanceSucceeded:
		ready, reconciling = metav1.ConditionTrue, metav1.ConditionFalse
	case v1alpha1.RebalanceFailed, v1alpha1.RebalanceStale:
		reconciling, stalled = metav1.ConditionFalse, metav1.ConditionTrue
	case v1alpha1.RebalanceStopped:
		reconciling = metav1.ConditionFalse
	case v1alpha1.RebalancePlanning:
		if d.reason == v1alpha1.ReasonScheduled {
			ready, reconciling = metav1.ConditionTrue, metav1.ConditionFalse
		}
	case v1alpha1.RebalanceAwaitingApproval, v1alpha1.RebalanceExecuting:
	}
	if d.action == end && !v.next.IsZero() {
		message += " The next plan is made at " + stamp(v.next) + "."
	}
	return []condition.Condition{
		{Type: v1alpha1.ConditionReady, Status: ready, Reason: d.reason, Message: message},
		{Type: v1alpha1.ConditionReconciling, Status: reconciling, Reason: d.reason, Message: message},
		{Type: v1alpha1.ConditionStalled, Status: stalled, Reason: d.reason, Message: message},
	}
}

func sentence(message string) string {
	if message == "" {
		return message
	}
	return strings.ToUpper(message[:1]) + message[1:] + "."
}
