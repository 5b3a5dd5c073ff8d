package load

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Meter averages the load of one node's streams. It is not safe for concurrent use.
type Meter struct {
	streams map[string]*average
}

// NewMeter returns a meter that knows of no load.
func NewMeter() *Meter { return &Meter{streams: map[string]*average{}} }

// Observe takes in what each stream that is open did since the last look. Streams that are not named any more have left, and
// their load with them.
func (m *Meter) Observe(samples map[string]Sample, took time.Duration) {
	for stream := range m.streams {
		if _, open := samples[stream]; !open {
			delete(m.streams, stream)
		}
	}
	for stream, sample := range samples {
		a := m.streams[stream]
		if a == nil {
			a = &average{}
			m.streams[stream] = a
		}
		a.add(sample, took)
	}
}

const (
	// maxNamed and maxNamedBytes bound the streams that a report names.
	maxNamed      = 16
	maxNamedBytes = 1536
	// leastBytes and leastRequests a second are told; less counts as nothing.
	leastBytes    = 1024
	leastRequests = 1
)

// Stream is the load of one stream, a second.
type Stream struct {
	Stream          string
	Bytes, Requests int64
}

// Report is the load of a node, a second.
type Report struct {
	Bytes, Requests int64
	// AppendTime is how long an append takes on average; 0 where there was none lately.
	AppendTime time.Duration
	// Streams with the most load, the first has most.
	Streams []Stream
}

// Report returns the averages as they are now, in two significant digits.
func (m *Meter) Report() Report {
	var report Report
	var bytes, requests, appends, appendSeconds float64
	var busy []Stream
	for _, name := range slices.Sorted(maps.Keys(m.streams)) {
		a := m.streams[name]
		if a.idle() {
			continue
		}
		bytes, requests = bytes+a.bytes, requests+a.requests
		appends, appendSeconds = appends+a.appends, appendSeconds+a.appendSeconds
		busy = append(busy, Stream{name, rounded(a.bytes, leastBytes), rounded(a.requests, leastRequests)})
	}
	report.Bytes, report.Requests = rounded(bytes, leastBytes), rounded(requests, leastRequests)
	if appends > 0 && report.Requests > 0 {
		report.AppendTime = time.Duration(rounded(appendSeconds/appends*1e6, 1)) * time.Microsecond
	}
	report.Streams = named(busy, bytes, requests)
	return report
}

// named returns the streams with the largest shares, as many as fit.
func named(busy []Stream, bytes, requests float64) []Stream {
	share := func(s Stream) float64 { return float64(s.Bytes)/max(bytes, 1) + float64(s.Requests)/max(requests, 1) }
	slices.SortStableFunc(busy, func(a, b Stream) int { return cmp.Compare(share(b), share(a)) })
	length := 0
	for i, s := range busy {
		length += len(s.Stream)
		if i == maxNamed || length > maxNamedBytes || s.Bytes == 0 && s.Requests == 0 {
			return busy[:i:i]
		}
	}
	return busy
}

// rounded keeps two significant digits, and nothing of what is less than least.
func rounded(value, least float64) int64 {
	if value < least {
		return 0
	}
	unit := 1.0
	for value/unit >= 100 {
		unit *= 10
	}
	return int64(value/unit+0.5) * int64(unit)
}
