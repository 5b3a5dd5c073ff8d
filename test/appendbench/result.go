package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// cell is one system under one load.
type cell struct {
	system string
	load   load
}

// results are all measurements so far.
type results struct {
	cells map[cell][]measurement
}

func (r *results) add(system string, l load, m measurement) {
	if r.cells == nil {
		r.cells = map[cell][]measurement{}
	}
	c := cell{system, l}
	r.cells[c] = append(r.cells[c], m)
}

// throughput is the median of the rounds, in appends a second.
func (r *results) throughput(system string, l load) float64 {
	return median(r.cells[cell{system, l}], func(m measurement) float64 { return float64(m.appended) / m.took.Seconds() })
}

// median returns the middle of the figures, or the mean of the two in the middle; 0 where there is none.
func median(rounds []measurement, figure func(measurement) float64) float64 {
	if len(rounds) == 0 {
		return 0
	}
	var figures []float64
	for _, m := range rounds {
		figures = append(figures, figure(m))
	}
	slices.Sort(figures)
	return (figures[(len(figures)-1)/2] + figures[len(figures)/2]) / 2
}

// quantile returns the smallest latency that at least the share of all does not exceed, in milliseconds.
func (m *measurement) quantile(share float64) float64 {
	if len(m.latencies) == 0 {
		return 0
	}
	index := int(share*float64(len(m.latencies))+0.999999) - 1
	at := m.latencies[min(max(index, 0), len(m.latencies)-1)]
	return float64(at) / float64(time.Millisecond)
}

// ratio is Streamshift's throughput on files in terms of the reference's.
func (r *results) ratio(l load) float64 { return r.throughput(onFiles, l) / r.throughput(reference, l) }

// faults returns how many appends failed, and how many acknowledged ones could not be read back, in all rounds.
func (r *results) faults(system string, l load) (failed, lost int) {
	for _, m := range r.cells[cell{system, l}] {
		failed += m.failed
		lost += max(m.lost, 0) // one that failed may be there all the same
	}
	return failed, lost
}

// rows is the part of the table that is about one load.
func (r *results) rows(l load, systems []system) string {
	var out strings.Builder
	if l == loads[0] {
		fmt.Fprintf(&out, "%-25s %-10s %10s %8s %8s %9s %6s %6s %6s\n",
			"load", "system", "appends/s", "p50 ms", "p99 ms", "objects/s", "x ref", "failed", "lost")
	}
	for _, s := range systems {
		rounds := r.cells[cell{s.name, l}]
		objects, ratio := "-", "-"
		if s.counts {
			objects = fmt.Sprintf("%.0f", median(rounds, func(m measurement) float64 { return float64(m.objects) / m.took.Seconds() }))
		}
		if s.name == onFiles && r.throughput(reference, l) > 0 {
			ratio = fmt.Sprintf("%.2f", r.ratio(l))
		}
		failed, lost := r.faults(s.name, l)
		fmt.Fprintf(&out, "%-25s %-10s %10.0f %8.2f %8.2f %9s %6s %6d %6d\n", l, s.name, r.throughput(s.name, l),
			median(rounds, func(m measurement) float64 { return m.quantile(0.5) }),
			median(rounds, func(m measurement) float64 { return m.quantile(0.99) }), objects, ratio, failed, lost)
	}
	return out.String()
}

// limits bound the ratio of Streamshift's throughput on files to the reference's.
type limits struct {
	// Aim is what the design asks for; it is printed beside the limit and not judged.
	Aim float64 `json:"aim"`
	// Limit is judged, for each load by its name.
	Limit map[string]float64 `json:"limit"`
	// From names the runs that the limits come from.
	From string `json:"from"`
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
	for _, l := range loads {
		if read.Limit[l.String()] <= 0 {
			return limits{}, fmt.Errorf("reading the limits in %s: there is none for %s", path, l)
		}
	}
	return read, nil
}

// judge returns an error for each limit that the run does not keep to, and for each load under which Streamshift failed an append or
// lost one.
func (r *results) judge(limits limits) []error {
	var errs []error
	for _, l := range loads {
		if ratio := r.ratio(l); ratio < limits.Limit[l.String()] {
			errs = append(errs, fmt.Errorf("%s: %.2f times the throughput of the reference; the limit is %.2f, the aim %.2f",
				l, ratio, limits.Limit[l.String()], limits.Aim))
		}
	}
	for c := range r.cells {
		if failed, lost := r.faults(c.system, c.load); failed+lost > 0 && c.system != reference {
			errs = append(errs, fmt.Errorf("%s, %s: %d appends failed, %d acknowledged ones could not be read back", c.system, c.load, failed, lost))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errs
}
