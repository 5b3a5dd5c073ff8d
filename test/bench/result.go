package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/streamshift/streamshift/test/load"
)

// samples of one quantity, in the order in which they were taken.
type samples []time.Duration

func (s *samples) add(sample time.Duration) { *s = append(*s, sample) }

// quantile returns the smallest sample that at least the share of all samples does not exceed; 0 where there is none.
func (s samples) quantile(share float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(s))
	index := int(share*float64(len(sorted))+0.999999) - 1
	return sorted[min(max(index, 0), len(sorted)-1)]
}

// result is what one run measured.
type result struct {
	// window is the time without an acknowledged append around a transfer; control is the same without a transfer.
	window, control samples
	// closing is from the source's stop to its commit; delivery from there to the target's opening.
	closing, delivery samples
	// hop is one status patch until its event is at another client; put is one object created in the store.
	hop, put samples
	tally    load.Tally
}

// floor is what a transfer cannot do without: one hop, the source's last object and the target's first one.
func (r *result) floor(share float64) time.Duration {
	return r.hop.quantile(share) + 2*r.put.quantile(share)
}

func (r *result) ratio(share float64) float64 {
	return float64(r.window.quantile(share)) / float64(r.floor(share))
}

func (r *result) table() string {
	var out strings.Builder
	row := func(name string, p50, p99, longest time.Duration) {
		fmt.Fprintf(&out, "%-52s %9s %9s %9s\n", name, milliseconds(p50), milliseconds(p99), milliseconds(longest))
	}
	samplesRow := func(name string, s samples) { row(name, s.quantile(0.5), s.quantile(0.99), s.quantile(1)) }
	fmt.Fprintf(&out, "%-52s %9s %9s %9s\n", fmt.Sprintf("%d transfers; milliseconds", len(r.window)), "p50", "p99", "max")
	samplesRow("window, as clients saw it", r.window)
	samplesRow("  of it: source stops, flushes, closes, commits", r.closing)
	samplesRow("  of it: target learns of it and opens", r.delivery)
	samplesRow("the same statistic without a transfer", r.control)
	samplesRow("floor: status patch to another client's watch", r.hop)
	samplesRow("floor: one object created in the store", r.put)
	row("floor: one patch to watch, and two objects", r.floor(0.5), r.floor(0.99), r.floor(1))
	fmt.Fprintf(&out, "%-52s %9.1f %9.1f\n", "ratio of the window to patch and watch alone",
		float64(r.window.quantile(0.5))/float64(r.hop.quantile(0.5)), float64(r.window.quantile(0.99))/float64(r.hop.quantile(0.99)))
	fmt.Fprintf(&out, "%-52s %9.1f %9.1f\n", "ratio of the window to the floor", r.ratio(0.5), r.ratio(0.99))
	fmt.Fprintf(&out, "%d appended, %d lost, %d duplicated, %d out of order, %d requests failed\n",
		r.tally.Appended, r.tally.Lost, r.tally.Duplicated, r.tally.Reordered, r.tally.Failed)
	return out.String()
}

func milliseconds(duration time.Duration) string {
	return fmt.Sprintf("%.1f", float64(duration)/float64(time.Millisecond))
}

// limits bound the ratio of the window to the floor.
type limits struct {
	// Aim is what the design asks for; it is printed beside the limit and not judged.
	Aim quantiles `json:"aim"`
	// Limit is judged.
	Limit quantiles `json:"limit"`
	// DrainShare is the least share of the floor's rate that an unpaced drain must have.
	DrainShare float64 `json:"drainShare"`
	// DrainRegisterShare is the same of the rate at which the API server takes patches of objects like a Stream.
	DrainRegisterShare float64 `json:"drainRegisterShare"`
	// From names the runs that the limit comes from.
	From string `json:"from"`
}

type quantiles struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
}

func readLimits(path string) (limits, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return limits{}, fmt.Errorf("reading the limits: %w", err)
	}
	var read limits
	if err := json.Unmarshal(content, &read); err != nil {
		return limits{}, fmt.Errorf("reading the limits in %s: %w", path, err)
	}
	if read.Limit.P50 <= 0 || read.Limit.P99 <= 0 || read.DrainShare <= 0 || read.DrainRegisterShare <= 0 {
		return limits{}, fmt.Errorf("reading the limits in %s: a limit is missing", path)
	}
	return read, nil
}

// judge returns an error for each limit that the run exceeds.
func (r *result) judge(limits limits) []error {
	var errs []error
	for _, check := range []struct {
		name       string
		share      float64
		limit, aim float64
	}{
		{"p50", 0.5, limits.Limit.P50, limits.Aim.P50},
		{"p99", 0.99, limits.Limit.P99, limits.Aim.P99},
	} {
		if ratio := r.ratio(check.share); ratio > check.limit {
			errs = append(errs, fmt.Errorf("the %s of the window is %.1f times the floor; the limit is %.1f, the aim %.1f",
				check.name, ratio, check.limit, check.aim))
		}
	}
	if !r.tally.Clean() {
		errs = append(errs, errors.New("the tally is not clean"))
	}
	return errs
}
