package main

import (
	"strings"
	"testing"
	"time"

	"github.com/streamshift/streamshift/test/load"
)

// counting returns n samples of 1 ms, 2 ms, ... n ms, the largest first.
func counting(n int) samples {
	var s samples
	for i := n; i > 0; i-- {
		s.add(time.Duration(i) * time.Millisecond)
	}
	return s
}

func TestQuantile(t *testing.T) {
	tests := map[string]struct {
		samples samples
		share   float64
		want    time.Duration
	}{
		"no samples":                              {share: 0.5, want: 0},
		"one sample is every quantile":            {samples: counting(1), share: 0.99, want: time.Millisecond},
		"the median of an odd number":             {samples: counting(5), share: 0.5, want: 3 * time.Millisecond},
		"the lower median of an even number":      {samples: counting(4), share: 0.5, want: 2 * time.Millisecond},
		"the p99 of a hundred is not the maximum": {samples: counting(100), share: 0.99, want: 99 * time.Millisecond},
		"the p99 of fifty is the maximum":         {samples: counting(50), share: 0.99, want: 50 * time.Millisecond},
		"the whole":                               {samples: counting(7), share: 1, want: 7 * time.Millisecond},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			if got := test.samples.quantile(test.share); got != test.want {
				t.Errorf("quantile %v is %v, want %v", test.share, got, test.want)
			}
		})
	}
}

func TestJudge(t *testing.T) {
	milli := time.Millisecond
	// The floor is 4 + 2*3 = 10 ms.
	run := func(window time.Duration, tally load.Tally) *result {
		return &result{window: samples{window}, hop: samples{4 * milli}, put: samples{3 * milli}, tally: tally}
	}
	limit := limits{Limit: quantiles{P50: 2, P99: 2}}
	tests := map[string]struct {
		run        *result
		wantErrors int
	}{
		"a window at the limit passes":          {run: run(20*milli, load.Tally{Appended: 1}), wantErrors: 0},
		"a window beyond the limit fails twice": {run: run(21*milli, load.Tally{Appended: 1}), wantErrors: 2},
		"a lost record fails":                   {run: run(milli, load.Tally{Appended: 1, Lost: 1}), wantErrors: 1},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			if got := test.run.judge(limit); len(got) != test.wantErrors {
				t.Errorf("%d errors, want %d: %v", len(got), test.wantErrors, got)
			}
		})
	}
}

func TestTheLimitsInTheCheckoutAreRead(t *testing.T) {
	read, err := readLimits("limits.json")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(read.From, "transfers") {
		t.Errorf("the limits do not tell the runs that they come from: %q", read.From)
	}
}
