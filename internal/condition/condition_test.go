package condition

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMergeKeepsTheTimeWhereTheStatusStays(t *testing.T) {
	early, late := metav1.NewTime(time.Unix(100, 0)), metav1.NewTime(time.Unix(200, 0))
	old := Merge(nil, 1, early, True("A", "R1", "m1"), False("B", "R", "m"))

	got := Merge(old, 2, late, True("A", "R2", "m2"), True("B", "R", "m"), Unknown("C", "R", "m"))

	want := []metav1.Condition{
		{Type: "A", Status: "True", Reason: "R2", Message: "m2", ObservedGeneration: 2, LastTransitionTime: early},
		{Type: "B", Status: "True", Reason: "R", Message: "m", ObservedGeneration: 2, LastTransitionTime: late},
		{Type: "C", Status: "Unknown", Reason: "R", Message: "m", ObservedGeneration: 2, LastTransitionTime: late},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if old[0].Reason != "R1" || old[1].Status != "False" {
		t.Errorf("the old conditions were changed: %+v", old)
	}
}

func TestAMessageIsCutAtTheAPIsLimit(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		want    int
	}{
		"at the limit":                        {strings.Repeat("a", maxMessageBytes), maxMessageBytes},
		"one beyond":                          {strings.Repeat("a", maxMessageBytes+1), maxMessageBytes},
		"a character of two bytes at its end": {strings.Repeat("a", maxMessageBytes-1) + "é", maxMessageBytes - 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := Merge(nil, 1, metav1.Time{}, True("A", "R", c.message))
			if len(got[0].Message) != c.want {
				t.Errorf("%d bytes, want %d", len(got[0].Message), c.want)
			}
		})
	}
}
