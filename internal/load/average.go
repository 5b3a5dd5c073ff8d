package load

import (
	"math"
	"time"
)

// Sample is what a stream did in some time.
type Sample struct {
	// Bytes appended.
	Bytes int64
	// Requests answered: appends and reads.
	Requests int64
	// Appends answered, and the time that they took together.
	Appends    int64
	AppendTime time.Duration
}

const (
	// averageOver is the time constant of the averages: what happened that long ago counts a third.
	averageOver = 3 * time.Minute
	// quietAfter is for how long nothing must happen before a stream counts as idle, whatever its average.
	quietAfter = time.Minute
)

// average is an exponentially weighted mean of rates a second. The first samples count fully, so that it needs no time to
// start.
type average struct {
	bytes, requests, appends, appendSeconds float64
	// known is how much of the mean is known, from 0 to 1.
	known float64
	quiet time.Duration
}

func (a *average) add(s Sample, took time.Duration) {
	if took <= 0 {
		return
	}
	if s.Requests == 0 && s.Bytes == 0 {
		a.quiet += took
	} else {
		a.quiet = 0
	}
	keep := math.Exp(-took.Seconds() / averageOver.Seconds())
	known := a.known*keep + 1 - keep
	mean := func(old float64, amount float64) float64 {
		return (old*a.known*keep + amount/took.Seconds()*(1-keep)) / known
	}
	a.bytes = mean(a.bytes, float64(s.Bytes))
	a.requests = mean(a.requests, float64(s.Requests))
	a.appends = mean(a.appends, float64(s.Appends))
	a.appendSeconds = mean(a.appendSeconds, s.AppendTime.Seconds())
	a.known = known
}

func (a *average) idle() bool { return a.quiet >= quietAfter }
