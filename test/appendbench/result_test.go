package main

import (
	"strings"
	"testing"
	"time"
)

// ran is a result in which Streamshift made so many times the reference's throughput under every load.
func ran(ratio int, change func(*measurement)) *results {
	var r results
	for _, l := range loads {
		r.add(reference, l, measurement{appended: 100, took: time.Second})
		m := measurement{appended: 100 * ratio, took: time.Second, latencies: []time.Duration{time.Millisecond, 3 * time.Millisecond}}
		change(&m)
		r.add(onFiles, l, m)
	}
	return &r
}

func TestARunIsJudgedByItsLimits(t *testing.T) {
	limits := limits{Limit: map[string]float64{}}
	for _, l := range loads {
		limits.Limit[l.String()] = 2
	}
	tests := map[string]struct {
		run        *results
		wantErrors int
	}{
		"a run at the limit passes":                     {ran(2, func(*measurement) {}), 0},
		"a slower one fails under every load":           {ran(1, func(*measurement) {}), len(loads)},
		"a lost append fails":                           {ran(2, func(m *measurement) { m.lost = 1 }), len(loads)},
		"an append that was refused fails":              {ran(2, func(m *measurement) { m.failed = 1 }), len(loads)},
		"what was not acknowledged may be there":        {ran(2, func(m *measurement) { m.lost = -1 }), 0},
		"the rounds of a load are judged by the median": {secondRound(), 0},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			if got := test.run.judge(limits); len(got) != test.wantErrors {
				t.Errorf("%d errors, want %d: %v", len(got), test.wantErrors, got)
			}
		})
	}
}

// secondRound has rounds of 1 and 3 times the reference.
func secondRound() *results {
	r := ran(1, func(*measurement) {})
	for _, l := range loads {
		r.add(onFiles, l, measurement{appended: 300, took: time.Second})
	}
	return r
}

func TestTheTableShowsMedianAndQuantiles(t *testing.T) {
	got := ran(2, func(*measurement) {}).rows(loads[0], []system{{name: onFiles, counts: true}, {name: reference}})
	for _, want := range []string{"200", "1.00", "3.00", "2.00", "reference"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
}

func TestTheLimitsInTheCheckoutAreRead(t *testing.T) {
	if _, err := readLimits("limits.json"); err != nil {
		t.Fatal(err)
	}
}
