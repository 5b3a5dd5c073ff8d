package load

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const look = 10 * time.Second

// steady is a sample of so many bytes and requests a second, each request an append that takes 2 ms.
func steady(bytes, requests int64) Sample {
	seconds := int64(look / time.Second)
	return Sample{Bytes: bytes * seconds, Requests: requests * seconds, Appends: requests * seconds, AppendTime: time.Duration(requests*seconds) * 2 * time.Millisecond}
}

func TestASteadyLoadIsKnownFromTheFirstLookOn(t *testing.T) {
	m := NewMeter()
	for range 30 {
		m.Observe(map[string]Sample{"a": steady(20000, 10), "b": steady(3000, 30), "idle": {}}, look)
		want := Report{Bytes: 23000, Requests: 40, AppendTime: 2 * time.Millisecond, Streams: []Stream{{"a", 20000, 10}, {"b", 3000, 30}}}
		if diff := cmp.Diff(want, m.Report()); diff != "" {
			t.Fatalf("report (-want +got):\n%s", diff)
		}
	}
}

func TestLoadThatComesAndGoesWithinAMinuteIsAveraged(t *testing.T) {
	m := NewMeter()
	writes, told := 0, Report{}
	for i := range 720 { // 2 hours, 30 s busy, 30 s not
		sample := steady(0, 0)
		if i%6 < 3 {
			sample = steady(200000, 100)
		}
		m.Observe(map[string]Sample{"a": sample}, look)
		if now := m.Report(); Significant(&told, &now) {
			writes, told = writes+1, now
		}
	}
	if last := m.Report(); last.Bytes < 85000 || last.Bytes > 115000 {
		t.Errorf("the average of a stream that is busy half of the time at 200 kB/s is %d", last.Bytes)
	}
	if writes > 6 {
		t.Errorf("%d reports of a load that goes to and fro, want at most 6", writes)
	}
}

func TestAnIdleNodeComesToRestAtNothing(t *testing.T) {
	m := NewMeter()
	m.Observe(map[string]Sample{"a": steady(1e9, 1e4)}, look)
	writes, told := 0, m.Report()
	for range 100 {
		m.Observe(map[string]Sample{"a": {}}, look)
		if now := m.Report(); Significant(&told, &now) {
			writes, told = writes+1, now
		}
	}
	if diff := cmp.Diff(Report{}, told); diff != "" {
		t.Errorf("a node that is idle for long (-want +got):\n%s", diff)
	}
	if writes > 6 {
		t.Errorf("%d reports until it is told that the node is idle, want at most 6", writes)
	}
}

func TestAStreamThatLeavesTakesItsLoadAlong(t *testing.T) {
	m := NewMeter()
	m.Observe(map[string]Sample{"a": steady(20000, 10), "b": steady(20000, 10)}, look)
	m.Observe(map[string]Sample{"b": steady(20000, 10)}, look)
	if got := m.Report(); got.Bytes != 20000 || len(got.Streams) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestAReportNamesAtMostSoManyStreams(t *testing.T) {
	for name, c := range map[string]struct{ streams, length, want int }{
		"at the limit":       {maxNamed, 20, maxNamed},
		"one beyond":         {maxNamed + 1, 20, maxNamed},
		"very long names":    {maxNamed, 317, 4},
		"names at the limit": {maxNamed, maxNamedBytes / maxNamed, maxNamed},
		"names beyond of it": {maxNamed, maxNamedBytes/maxNamed + 1, maxNamed - 1},
		"no stream":          {0, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			m, samples := NewMeter(), map[string]Sample{}
			for i := range c.streams {
				id := fmt.Sprint(i)
				samples[id+strings.Repeat("x", c.length-len(id))] = steady(20000, 10)
			}
			m.Observe(samples, look)
			if got := len(m.Report().Streams); got != c.want {
				t.Errorf("%d streams are named, want %d", got, c.want)
			}
		})
	}
}

func TestSignificant(t *testing.T) {
	told := Report{Bytes: 100000, Requests: 100, AppendTime: 20 * time.Millisecond, Streams: []Stream{{"a", 50000, 50}, {"b", 10000, 10}}}
	for name, c := range map[string]struct {
		change func(*Report)
		want   bool
	}{
		"nothing":                            {func(*Report) {}, false},
		"a quarter more":                     {func(r *Report) { r.Bytes = 125000 }, false},
		"more than that":                     {func(r *Report) { r.Bytes = 140000 }, true},
		"fewer requests":                     {func(r *Report) { r.Requests = 70 }, true},
		"the same load on another stream":    {func(r *Report) { r.Streams = []Stream{{"c", 50000, 50}, {"b", 10000, 10}} }, true},
		"appends that take twice as long":    {func(r *Report) { r.AppendTime = 40 * time.Millisecond }, false},
		"appends that take longer":           {func(r *Report) { r.AppendTime = 41 * time.Millisecond }, true},
		"appends that are fast again":        {func(r *Report) { r.AppendTime = time.Millisecond }, true},
		"idle, however little it was":        {func(r *Report) { *r = Report{} }, true},
		"a little more on one of them":       {func(r *Report) { r.Bytes, r.Streams = 102000, []Stream{{"a", 52000, 50}, {"b", 10000, 10}} }, false},
		"a stream that is named no longer":   {func(r *Report) { r.Streams = r.Streams[:1] }, false},
		"an order that changes, little else": {func(r *Report) { r.Streams = []Stream{{"b", 10000, 10}, {"a", 50000, 50}} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := told
			c.change(&now)
			if got := Significant(&told, &now); got != c.want {
				t.Errorf("significant: %v, want %v", got, c.want)
			}
		})
	}
}

func TestStreamsThatAreNotNamedShareTheRest(t *testing.T) {
	report := Report{Bytes: 100, Requests: 10, Streams: []Stream{{"a", 60, 4}, {"left", 10, 2}}}
	want := map[string]Rate{"a": {60, 4}, "b": {15, 2}, "c": {15, 2}}
	if diff := cmp.Diff(want, Estimate(&report, []string{"a", "b", "c"})); diff != "" {
		t.Errorf("rates (-want +got):\n%s", diff)
	}
}
