package main

import "testing"

func TestCountsMustBeWhole(t *testing.T) {
	for name, tc := range map[string]struct {
		counts  counts
		wantErr bool
	}{
		"all passed":                       {counts: counts{Passed: demanded}},
		"none ran":                         {counts: counts{}, wantErr: true},
		"one was not found":                {counts: counts{Passed: demanded - 1}, wantErr: true},
		"one more than the suite has":      {counts: counts{Passed: demanded + 1}, wantErr: true},
		"one failed":                       {counts: counts{Passed: demanded - 1, Failed: 1}, wantErr: true},
		"one failed beside the demanded":   {counts: counts{Passed: demanded, Failed: 1}, wantErr: true},
		"the file itself could not be run": {counts: counts{Passed: demanded, Suites: 1}, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			if err := tc.counts.check(); (err != nil) != tc.wantErr {
				t.Errorf("got error %v, want one: %t", err, tc.wantErr)
			}
		})
	}
}
