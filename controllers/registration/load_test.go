package registration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/load"
)

func TestTheLoadInANodesStatus(t *testing.T) {
	report := load.Report{Bytes: 23000, Requests: 40, AppendTime: 1500 * time.Microsecond, Streams: []load.Stream{{Stream: "default/a", Bytes: 20000, Requests: 10}}}
	want := &v1alpha1.NodeLoad{
		BytesPerSecond: 23000, RequestsPerSecond: 40, AppendMicros: 1500,
		Streams: []v1alpha1.StreamLoad{{Stream: "default/a", BytesPerSecond: 20000, RequestsPerSecond: 10}},
	}
	if diff := cmp.Diff(want, nodeLoad(&report)); diff != "" {
		t.Errorf("load (-want +got):\n%s", diff)
	}
	if got := nodeLoad(&load.Report{}); got != nil {
		t.Errorf("an idle node has the load %+v", got)
	}
}

// T58: a list that grows with the number of streams is written again and again, and costs the API server its time.
func TestTheLoadOf5000StreamsIsSmall(t *testing.T) {
	const limit = 3 << 10
	for _, length := range []int{30, 317} {
		meter, samples := load.NewMeter(), map[string]load.Sample{}
		for i := range 5000 {
			name := fmt.Sprintf("default/stream-%d", i)
			samples[name+strings.Repeat("x", max(0, length-len(name)))] = load.Sample{Bytes: 1e9, Requests: 1e6, Appends: 1e6, AppendTime: time.Hour}
		}
		meter.Observe(samples, 10*time.Second)
		report := meter.Report()
		encoded, err := yaml.Marshal(nodeLoad(&report))
		if err != nil {
			t.Fatal(err)
		}
		if len(encoded) > limit {
			t.Errorf("the load of streams whose names have %d characters takes %d bytes, want at most %d", length, len(encoded), limit)
		}
	}
}
