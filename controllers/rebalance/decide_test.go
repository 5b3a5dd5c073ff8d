package rebalance

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

var unreadable = field.Invalid(field.NewPath("spec", "schedule"), "x", "cannot be read")

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// planOf has so many moves, of streams s0, s1, ...
func planOf(moves int) *plan {
	p := &plan{End: "afterwards every node is within half of the threshold"}
	for i := range moves {
		p.Moves = append(p.Moves, v1alpha1.RebalanceMove{Stream: fmt.Sprintf("s%d", i), Source: "a", Target: "b", Epoch: 1})
	}
	return p
}

// viewOf is a rebalance whose plan of so many moves was made at noon, with these results; it is one minute later.
func viewOf(moves int, outcomes ...outcome) *view {
	p := planOf(moves)
	v := &view{
		now: noon.Add(time.Minute), plan: p,
		object: &v1alpha1.StreamRebalance{
			Spec:   v1alpha1.StreamRebalanceSpec{Approval: v1alpha1.ApprovalAuto, MaxInFlight: 2, MaxStalePercent: 20},
			Status: v1alpha1.StreamRebalanceStatus{PlanHash: p.hash(), Planned: int32(moves), Run: &v1alpha1.RebalanceRun{PlannedAt: metav1.NewTime(noon)}},
		},
	}
	for _, o := range outcomes {
		r := result{outcome: o}
		if o == skipped || o == failed {
			r.reason, r.message = "Why", "because"
		}
		v.results = append(v.results, r)
	}
	return v
}

func started(v *view) *view {
	v.object.Status.Run.StartedAt = &metav1.Time{Time: noon}
	return v
}

func with(v *view, change func(*view)) *view {
	change(v)
	return v
}

func TestDecide(t *testing.T) {
	ten := func(o ...outcome) []outcome {
		for len(o) < 10 {
			o = append(o, toStart)
		}
		return o
	}
	for name, c := range map[string]struct {
		view        *view
		wantAction  action
		wantPhase   v1alpha1.RebalancePhase
		wantReason  string
		wantStart   []int
		wantSettled int
	}{
		"a new one is planned":         {view: with(viewOf(0), func(v *view) { v.object.Status.Run = nil }), wantAction: makeAPlan, wantPhase: "Planning", wantReason: "Planned"},
		"unless it is suspended":       {view: with(viewOf(0), func(v *view) { v.object.Status.Run = nil; v.object.Spec.Suspend = true }), wantAction: wait, wantPhase: "Stopped", wantReason: "Suspended"},
		"a plan without moves is done": {view: viewOf(0), wantAction: end, wantPhase: "Succeeded", wantReason: "NothingToDo"},
		"a plan that is gone fails":    {view: with(viewOf(1), func(v *view) { v.plan = nil }), wantAction: end, wantPhase: "Failed", wantReason: "PlanGone"},
		"approval Auto begins":         {view: viewOf(2, toStart, toStart), wantAction: begin, wantPhase: "Executing", wantReason: "Executing"},
		"approval Manual waits":        {view: with(viewOf(2), func(v *view) { v.object.Spec.Approval = v1alpha1.ApprovalManual }), wantAction: wait, wantPhase: "AwaitingApproval", wantReason: "AwaitingApproval"},
		"for this plan, and no other":  {view: with(viewOf(2), func(v *view) { v.object.Spec.Approval, v.object.Spec.ApprovedPlan = v1alpha1.ApprovalManual, "other" }), wantAction: wait, wantPhase: "AwaitingApproval", wantReason: "OtherPlanApproved"},
		"and begins with it": {view: with(viewOf(2, toStart, toStart), func(v *view) {
			v.object.Spec.Approval, v.object.Spec.ApprovedPlan = v1alpha1.ApprovalManual, planOf(2).hash()
		}), wantAction: begin, wantPhase: "Executing", wantReason: "Executing"},
		"F15: 20 % stale is not too much":     {view: viewOf(10, ten(skipped, skipped)...), wantAction: begin, wantPhase: "Executing", wantReason: "Executing"},
		"F15: 30 % is, and nothing is moved":  {view: viewOf(10, ten(skipped, skipped, skipped)...), wantAction: end, wantPhase: "Stale", wantReason: "PlanStale", wantSettled: 10},
		"at most so many at a time":           {view: started(viewOf(10, ten()...)), wantAction: execute, wantPhase: "Executing", wantReason: "Executing", wantStart: []int{0, 1}},
		"those under way count":               {view: started(viewOf(10, ten(succeeded, underWay, toStart)...)), wantAction: execute, wantPhase: "Executing", wantReason: "Executing", wantStart: []int{2}, wantSettled: 1},
		"stale moves are skipped":             {view: started(viewOf(10, ten(skipped, succeeded, skipped)...)), wantAction: execute, wantPhase: "Executing", wantReason: "Executing", wantStart: []int{3, 4}, wantSettled: 3},
		"too many turn the rest stale":        {view: started(viewOf(10, ten(skipped, skipped, skipped)...)), wantAction: end, wantPhase: "Stale", wantReason: "PlanStale", wantSettled: 10},
		"once what is under way has ended":    {view: started(viewOf(10, ten(skipped, skipped, skipped, underWay)...)), wantAction: execute, wantPhase: "Executing", wantReason: "Executing", wantSettled: 3},
		"suspend starts nothing more":         {view: with(started(viewOf(3, succeeded, underWay, toStart)), func(v *view) { v.object.Spec.Suspend = true }), wantAction: execute, wantPhase: "Executing", wantReason: "Executing", wantSettled: 1},
		"and stops once nothing is under way": {view: with(started(viewOf(3, succeeded, succeeded, toStart)), func(v *view) { v.object.Spec.Suspend = true }), wantAction: execute, wantPhase: "Stopped", wantReason: "Suspended", wantSettled: 2},
		"drains go first":                     {view: with(started(viewOf(3, toStart, toStart, toStart)), func(v *view) { v.drains = true }), wantAction: execute, wantPhase: "Executing", wantReason: "WaitsForDrains"},
		"a move whose stream is busy waits":   {view: started(viewOf(2, waits, toStart)), wantAction: execute, wantPhase: "Executing", wantReason: "Executing", wantStart: []int{1}},
		"all of them succeeded":               {view: started(viewOf(2, succeeded, succeeded)), wantAction: end, wantPhase: "Succeeded", wantReason: "Succeeded", wantSettled: 2},
		"one failed":                          {view: started(viewOf(2, succeeded, failed)), wantAction: end, wantPhase: "Failed", wantReason: "MovesFailed", wantSettled: 2},
		"F4: after a restart it goes on where it was": {
			view:       with(started(viewOf(4, succeeded, toStart)), func(v *view) { v.object.Status.Run.Settled, v.object.Status.Run.Succeeded = 2, 2 }),
			wantAction: execute, wantPhase: "Executing", wantReason: "Executing", wantStart: []int{3}, wantSettled: 1},
		"a run that has ended stays as it is": {view: with(started(viewOf(1, failed)), func(v *view) { v.object.Status.Run.EndedAt = &metav1.Time{Time: noon} }), wantAction: wait},
		"a schedule that cannot be read":      {view: with(viewOf(0), func(v *view) { v.object.Spec.Schedule, v.invalid = "x", unreadable }), wantAction: end, wantPhase: "Failed", wantReason: "InvalidSpec"},
		"with a schedule the first plan is made in its time": {
			view: with(viewOf(0), func(v *view) { v.object.Spec.Schedule, v.object.Status.Run = "0 13 * * *", nil }), wantAction: wait, wantPhase: "Planning", wantReason: "Scheduled"},
		"and then": {
			view: with(viewOf(0), func(v *view) {
				v.object.Spec.Schedule, v.object.Status.Run, v.object.Status.NextRun = "0 12 * * *", nil, &metav1.Time{Time: noon}
			}), wantAction: makeAPlan, wantPhase: "Planning", wantReason: "Planned"},
		"a plan that nobody approved is replaced by the next one": {
			view: with(viewOf(2), func(v *view) {
				v.object.Spec.Schedule, v.object.Spec.Approval, v.object.Status.NextRun = "0 12 * * *", v1alpha1.ApprovalManual, &metav1.Time{Time: noon}
			}), wantAction: makeAPlan, wantPhase: "Planning", wantReason: "Planned"},
		"one that is being carried out is not": {
			view: with(started(viewOf(2, underWay, toStart)), func(v *view) {
				v.object.Spec.Schedule, v.object.Status.NextRun = "0 12 * * *", &metav1.Time{Time: noon}
			}), wantAction: execute, wantPhase: "Executing", wantReason: "Executing", wantStart: []int{1}},
		"when the window is over nothing more is started": {
			view: with(started(viewOf(3, succeeded, underWay, toStart)), func(v *view) { v.object.Spec.Schedule, v.object.Spec.WindowMinutes = "0 12 * * *", 1 }), wantAction: execute, wantPhase: "Executing", wantReason: "Executing", wantSettled: 1},
		"and the rest is left out": {
			view: with(started(viewOf(3, succeeded, succeeded, toStart)), func(v *view) { v.object.Spec.Schedule, v.object.Spec.WindowMinutes = "0 12 * * *", 1 }), wantAction: end, wantPhase: "Succeeded", wantReason: "Succeeded", wantSettled: 2},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(c.view)
			if d.action != c.wantAction || d.phase != c.wantPhase || d.reason != c.wantReason || len(d.settle) != c.wantSettled {
				t.Errorf("got action %d, %s, %s, %d settled: %s", d.action, d.phase, d.reason, len(d.settle), d.message)
			}
			if diff := cmp.Diff(c.wantStart, d.start); diff != "" {
				t.Errorf("started (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProgressSaysHowLongTheRestTakes(t *testing.T) {
	v := started(viewOf(4, succeeded, underWay, toStart, toStart))
	want := "1 of 4 moves have ended, 1 are under way; the rest takes about 3m0s"
	if got := decide(v).message; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestStatusCountsAndNamesWhatDidNotComeToWhatWasPlanned(t *testing.T) {
	v := started(viewOf(10, succeeded, skipped, failed, skipped, skipped, skipped, skipped, succeeded, succeeded, succeeded))
	v.object.Spec.MaxStalePercent = 100
	d := decide(v)
	got := statusOf(v, d, nil)
	if run := got.Run; run.Settled != 10 || run.Succeeded != 4 || run.Skipped != 5 || run.Failed != 1 || run.EndedAt == nil {
		t.Errorf("run %+v", run)
	}
	var named []string
	for _, exception := range got.Exceptions {
		named = append(named, exception.Stream)
	}
	if diff := cmp.Diff([]string{"s1", "s2", "s3", "s4", "s5"}, named); diff != "" {
		t.Errorf("exceptions (-want +got):\n%s", diff)
	}
	if !condition.IsTrue(got.Conditions, v1alpha1.ConditionStalled) || condition.IsTrue(got.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("conditions %+v", got.Conditions)
	}
}

func TestWhatIsLeftOutIsCounted(t *testing.T) {
	v := started(viewOf(3, succeeded, toStart, toStart))
	v.object.Spec.Schedule, v.object.Spec.WindowMinutes = "0 12 * * *", 1
	got := statusOf(v, decide(v), nil)
	if run := got.Run; run.Settled != 3 || run.Succeeded != 1 || run.Skipped != 2 || len(got.Exceptions) != 2 {
		t.Errorf("run %+v, exceptions %+v", run, got.Exceptions)
	}
}

func TestWhatCannotBeReadIsSaidOnce(t *testing.T) {
	v := with(viewOf(0), func(v *view) {
		v.object.Spec.Schedule, v.object.Status.Run, v.object.Generation, v.invalid = "at night", nil, 3, unreadable
	})
	d := decide(v)
	v.object.Status = statusOf(v, d, nil)
	if d.action != end || !condition.IsTrue(v.object.Status.Conditions, v1alpha1.ConditionStalled) {
		t.Errorf("action %d, %+v", d.action, v.object.Status)
	}
	if again := decide(v); again.action != wait || wakeAfter(v, again) != 0 {
		t.Errorf("action %d, looked at again after %v", again.action, wakeAfter(v, again))
	}
}

func TestTimesThatPassDuringARunAreLeftOut(t *testing.T) {
	later := noon.Add(time.Hour)
	v := with(started(viewOf(1, succeeded)), func(v *view) {
		v.object.Spec.Schedule, v.object.Status.NextRun, v.next = "0 * * * *", &metav1.Time{Time: noon}, later
	})
	got := statusOf(v, decide(v), nil)
	if got.Run.EndedAt == nil || !got.NextRun.Equal(&metav1.Time{Time: later}) {
		t.Errorf("next run %v, run %+v", got.NextRun, got.Run)
	}
}

func TestNextRun(t *testing.T) {
	for name, c := range map[string]struct {
		schedule, zone string
		want           time.Time
		wantInvalid    bool
	}{
		"none":                    {want: time.Time{}},
		"every night":             {schedule: "30 2 * * *", want: time.Date(2026, 12, 1, 2, 30, 0, 0, time.UTC)},
		"in a zone":               {schedule: "30 2 * * *", zone: "Europe/Berlin", want: time.Date(2026, 12, 1, 1, 30, 0, 0, time.UTC)},
		"a zone that is not one":  {schedule: "30 2 * * *", zone: "Mars/Base", wantInvalid: true},
		"a schedule that is none": {schedule: "at night", wantInvalid: true},
		"a day that never comes":  {schedule: "0 0 30 2 *", wantInvalid: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, invalid := nextRun(&v1alpha1.StreamRebalanceSpec{Schedule: c.schedule, TimeZone: c.zone}, noon)
			if !c.wantInvalid && !got.Equal(c.want) || (invalid != nil) != c.wantInvalid {
				t.Errorf("got %v, %v", got, invalid)
			}
		})
	}
}
