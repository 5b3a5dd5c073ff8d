package load

import "time"

const (
	// significantPart of the load must have changed, or come to other streams, to be worth a write.
	significantPart = 0.25
	// significantTimes is by how much the time of an append must have changed, and leastAppendTime from where on.
	significantTimes = 2
	leastAppendTime  = 10 * time.Millisecond
)

// Significant tells whether a report differs so much from the one that was told that it is worth a write.
func Significant(told, now *Report) bool {
	bytes, requests := apart(told, now)
	return bytes > significantPart*float64(max(told.Bytes, now.Bytes)) ||
		requests > significantPart*float64(max(told.Requests, now.Requests)) ||
		slower(told.AppendTime, now.AppendTime) || slower(now.AppendTime, told.AppendTime) ||
		idle(told) != idle(now)
}

func idle(r *Report) bool { return r.Bytes == 0 && r.Requests == 0 }

func slower(before, after time.Duration) bool {
	return after >= leastAppendTime && after > significantTimes*max(before, time.Millisecond)
}

// apart is how much load is elsewhere than it was told to be.
func apart(told, now *Report) (bytes, requests float64) {
	change := map[string]Stream{}
	rest := Stream{Bytes: now.Bytes - told.Bytes, Requests: now.Requests - told.Requests}
	add := func(streams []Stream, sign int64) {
		for _, s := range streams {
			c := change[s.Stream]
			change[s.Stream] = Stream{Bytes: c.Bytes + sign*s.Bytes, Requests: c.Requests + sign*s.Requests}
			rest.Bytes, rest.Requests = rest.Bytes-sign*s.Bytes, rest.Requests-sign*s.Requests
		}
	}
	add(now.Streams, 1)
	add(told.Streams, -1)
	change[""] = rest
	for _, c := range change {
		bytes += float64(max(c.Bytes, -c.Bytes))
		requests += float64(max(c.Requests, -c.Requests))
	}
	return bytes, requests
}
