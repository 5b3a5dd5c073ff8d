package load

import (
	"slices"
	"time"
)

// Gap is a time without acknowledgement, between two acknowledged appends that follow each other, whoever wrote them.
type Gap struct {
	// Before and After are when the append before and the one after it were acknowledged.
	Before, After time.Time
}

// Length of the gap.
func (g Gap) Length() time.Duration { return g.After.Sub(g.Before) }

// LongestGap is the longest gap that overlaps the time from one moment to another: where a transfer took place in between, its
// window as clients saw it. ok is false while no append after to was acknowledged, or none before from.
func (r *Run) LongestGap(from, to time.Time) (longest Gap, ok bool) {
	return longestGap(acknowledgements(r.attempts()), from, to)
}

// acknowledgements returns the moments at which appends were acknowledged, in order.
func acknowledgements(attempts []attempt) []time.Time {
	moments := make([]time.Time, 0, len(attempts))
	for _, attempt := range attempts {
		if !attempt.acknowledged.IsZero() {
			moments = append(moments, attempt.acknowledged)
		}
	}
	slices.SortFunc(moments, time.Time.Compare)
	return moments
}

func longestGap(moments []time.Time, from, to time.Time) (longest Gap, ok bool) {
	if len(moments) == 0 || moments[0].After(from) || moments[len(moments)-1].Before(to) {
		return Gap{}, false
	}
	for i := 1; i < len(moments); i++ {
		gap := Gap{Before: moments[i-1], After: moments[i]}
		if gap.After.After(from) && gap.Before.Before(to) && gap.Length() > longest.Length() {
			longest = gap
		}
	}
	return longest, true
}

// Latencies are the times between the sending and the acknowledgement of the appends that were sent within the time given.
func (r *Run) Latencies(from, to time.Time) []time.Duration {
	var latencies []time.Duration
	for _, attempt := range r.attempts() {
		if !attempt.acknowledged.IsZero() && attempt.sent.After(from) && attempt.sent.Before(to) {
			latencies = append(latencies, attempt.acknowledged.Sub(attempt.sent))
		}
	}
	return latencies
}
