package main

import (
	"strings"
	"testing"
	"time"

	"github.com/streamshift/streamshift/test/load"
)

// TestADrainIsJudgedByItsShares: 100 streams in 5 s with 6 writes each are 120 writes a second.
func TestADrainIsJudgedByItsShares(t *testing.T) {
	drained := func(patches, registerPatches float64, tally load.Tally) *drainResult {
		return &drainResult{
			setting: drainSetting{name: "one"}, streams: 100, left: 100, took: 5 * time.Second, writes: map[string]int{"patch": 600},
			patches: patches, registerPatches: registerPatches, tally: tally,
		}
	}
	limits := limits{DrainShare: 0.25, DrainRegisterShare: 0.5}
	good := drained(300, 200, load.Tally{})
	tests := map[string]struct {
		results []*drainResult
		want    []string
	}{
		"within the limits":              {[]*drainResult{good, good}, nil},
		"too slow beside plain patches":  {[]*drainResult{drained(500, 200, load.Tally{})}, []string{"0.24 of the floor's rate"}},
		"too slow beside Stream patches": {[]*drainResult{drained(300, 250, load.Tally{})}, []string{"0.48 of the rate of patches of objects like a Stream"}},
		"the paced one is not judged":    {[]*drainResult{good, drained(1000, 1000, load.Tally{})}, nil},
		"something was lost":             {[]*drainResult{good, drained(300, 200, load.Tally{Lost: 1})}, []string{"is not clean"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			errs := judgeDrains(tt.results, limits)
			if len(errs) != len(tt.want) {
				t.Fatalf("judged %v, want %q", errs, tt.want)
			}
			for i, err := range errs {
				if !strings.Contains(err.Error(), tt.want[i]) {
					t.Errorf("judged %v, want %q", err, tt.want[i])
				}
			}
		})
	}
}
