package rebalance

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

func TestASpecIsRefusedOnceItsScheduleIsWrong(t *testing.T) {
	const nightly, wrong = "30 2 * * *", "at night"
	validator := &Validator{Now: func() time.Time { return noon }}
	with := func(schedule string) *v1alpha1.StreamRebalance {
		return &v1alpha1.StreamRebalance{Spec: v1alpha1.StreamRebalanceSpec{Schedule: schedule}}
	}
	suspended := with(wrong)
	suspended.Spec.Suspend = true
	for name, c := range map[string]struct {
		before, object *v1alpha1.StreamRebalance
		refused        bool
	}{
		"one plan":                                   {nil, with(""), false},
		"a plan every night":                         {nil, with(nightly), false},
		"a schedule that cannot be read":             {nil, with(wrong), true},
		"a change to one that cannot be read":        {with(nightly), with(wrong), true},
		"a change to one that can":                   {with(wrong), with(nightly), false},
		"something else of one that was let in once": {with(wrong), suspended, false},
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			if c.before == nil {
				_, err = validator.ValidateCreate(t.Context(), c.object)
			} else {
				_, err = validator.ValidateUpdate(t.Context(), c.before, c.object)
			}
			if (err != nil) != c.refused {
				t.Errorf("got %v, want refused: %v", err, c.refused)
			}
			if details := (*apierrors.StatusError)(nil); errors.As(err, &details) && len(details.ErrStatus.Details.Causes) == 0 {
				t.Errorf("%v has no causes: kubectl would not say why", err)
			}
		})
	}
}
