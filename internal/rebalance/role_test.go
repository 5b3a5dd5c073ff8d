package rebalance

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestJudge(t *testing.T) {
	well := Health{Node: "a", Selected: true, Running: time.Hour, AppendTime: 10 * time.Millisecond}
	limits := HealthLimits{MinRunning: 5 * time.Minute, SlowFactor: 3, SlowFloor: 20 * time.Millisecond}
	for name, c := range map[string]struct {
		change func(*Health)
		want   Judgement
	}{
		"a node that is well":               {func(*Health) {}, Judgement{Role: GivesAndTakes}},
		"one that is not selected":          {func(h *Health) { h.Selected = false }, Judgement{Outside, "is not selected"}},
		"one that drains":                   {func(h *Health) { h.Unfit = "is draining" }, Judgement{Outside, "is draining"}},
		"one that restarted just now":       {func(h *Health) { h.Running = 5*time.Minute - 1 }, Judgement{Gives, "has run for less than 5m0s"}},
		"one that has run for long enough":  {func(h *Health) { h.Running = 5 * time.Minute }, Judgement{Role: GivesAndTakes}},
		"three times the median":            {func(h *Health) { h.AppendTime = 30 * time.Millisecond }, Judgement{Role: GivesAndTakes}},
		"slow, however little it has to do": {func(h *Health) { h.AppendTime = 31 * time.Millisecond }, Judgement{Gives, "is slow: an append takes 31ms, and 10ms on the median node"}},
		"nothing appended lately":           {func(h *Health) { h.AppendTime = 0 }, Judgement{Role: GivesAndTakes}},
	} {
		t.Run(name, func(t *testing.T) {
			changed := well
			c.change(&changed)
			got := Judge([]Health{changed, well, well}, limits)
			if diff := cmp.Diff(c.want, got[0]); diff != "" {
				t.Errorf("judgement (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCoolDown(t *testing.T) {
	c := CoolDown{Base: 10 * time.Minute, Max: time.Hour}
	for name, test := range map[string]struct {
		last               Last
		wantLeft, wantNext time.Duration
	}{
		"moved by a person a while ago":   {Last{Ago: 4 * time.Minute}, 6 * time.Minute, 10 * time.Minute},
		"the cool-down is over just now":  {Last{Ago: 10 * time.Minute, CoolDown: 10 * time.Minute}, 0, 20 * time.Minute},
		"it was doubled before":           {Last{Ago: 25 * time.Minute, CoolDown: 20 * time.Minute}, 0, 40 * time.Minute},
		"within a longer one":             {Last{Ago: 15 * time.Minute, CoolDown: 20 * time.Minute}, 5 * time.Minute, 40 * time.Minute},
		"at most so long":                 {Last{Ago: 50 * time.Minute, CoolDown: 40 * time.Minute}, 0, time.Hour},
		"twice the last one has passed":   {Last{Ago: 40 * time.Minute, CoolDown: 20 * time.Minute}, 0, 10 * time.Minute},
		"one second before that it holds": {Last{Ago: 40*time.Minute - time.Second, CoolDown: 20 * time.Minute}, 0, 40 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.Left(test.last); got != test.wantLeft {
				t.Errorf("left %v, want %v", got, test.wantLeft)
			}
			if got := c.Next(test.last); got != test.wantNext {
				t.Errorf("next %v, want %v", got, test.wantNext)
			}
		})
	}
}
