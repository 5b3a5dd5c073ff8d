package load

// Rate is the load of one stream, a second.
type Rate struct {
	Bytes, Requests float64
}

// Estimate returns the load of each of a node's streams by the node's report: what is told of those that are named, and for
// each of the others the same part of the rest.
func Estimate(report *Report, owned []string) map[string]Rate {
	named := make(map[string]Stream, len(report.Streams))
	for _, s := range report.Streams {
		named[s.Stream] = s
	}
	rates := make(map[string]Rate, len(owned))
	rest := Rate{Bytes: float64(report.Bytes), Requests: float64(report.Requests)}
	for _, s := range report.Streams {
		rest.Bytes, rest.Requests = rest.Bytes-float64(s.Bytes), rest.Requests-float64(s.Requests)
	}
	others := 0
	for _, stream := range owned {
		if s, known := named[stream]; known {
			rates[stream] = Rate{Bytes: float64(s.Bytes), Requests: float64(s.Requests)}
			continue
		}
		others++
	}
	for _, stream := range owned {
		if _, known := rates[stream]; !known {
			rates[stream] = Rate{Bytes: max(0, rest.Bytes) / float64(others), Requests: max(0, rest.Requests) / float64(others)}
		}
	}
	return rates
}
