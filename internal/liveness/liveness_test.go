package liveness

import (
	"testing"
	"time"
)

func TestJudge(t *testing.T) {
	limits := Limits{SuspectAfter: 4 * time.Second, ExpiredAfter: 10 * time.Second}
	for name, c := range map[string]struct {
		since time.Duration
		want  Verdict
	}{
		"just renewed is healthy until a renewal is late":         {0, Verdict{Healthy, 4 * time.Second}},
		"one instant before late is healthy":                      {4*time.Second - 1, Verdict{Healthy, 1}},
		"late is suspect until the lease runs out":                {4 * time.Second, Verdict{Suspect, 6 * time.Second}},
		"one instant before the lease runs out is suspect":        {10*time.Second - 1, Verdict{Suspect, 1}},
		"a lease that has run out is expired until it is renewed": {10 * time.Second, Verdict{Expired, 0}},
		"a lease that has long run out is expired":                {time.Hour, Verdict{Expired, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Judge(c.since, limits); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
