package kubectlstream

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

func TestTop(t *testing.T) {
	busy, full, noSlots := readyNode("node-b"), readyNode("node-c"), readyNode("node-d")
	busy.Status.Load = &v1alpha1.NodeLoad{
		BytesPerSecond: 21 << 20, RequestsPerSecond: 36000, AppendMicros: 8460, Streams: []v1alpha1.StreamLoad{
			{Stream: "shop/orders", BytesPerSecond: 20 << 20, RequestsPerSecond: 30}, {Stream: "shop/x--adk6us1f9tp68pbiec", BytesPerSecond: 1200, RequestsPerSecond: 21000},
		},
	}
	full.Status.Streams = 98
	full.Status.Load = &v1alpha1.NodeLoad{RequestsPerSecond: 3, Streams: []v1alpha1.StreamLoad{{Stream: "default/quiet", BytesPerSecond: 1200}}}
	noSlots.Spec.Slots = 0
	nodes := []v1alpha1.StreamNode{drainingNode("node-a"), full, noSlots, busy}
	want := `
NAME     BYTES/S   REQUESTS/S   APPEND   STREAMS   INBOUND   SLOTS   USED   TAKES STREAMS
node-b   21Mi      36k          8.5ms    40        2         100     42%    yes
node-c   0         3            <none>   98        2         100     100%   yes
node-d   0         0            <none>   40        2         0       100%   yes
node-a   0         0            <none>   40        2         100     42%    no: it is unschedulable
`
	if diff := cmp.Diff(want, printed(t, topNodesTable(nodes), true)); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	want = `
NAMESPACE   NAME          NODE     BYTES/S   REQUESTS/S
shop        orders        node-b   20Mi      30
shop        Shop/Orders   node-b   1200      21k
default     quiet         node-c   1200      0
`
	if diff := cmp.Diff(want, printed(t, topStreamsTable(nodes), false)); diff != "" {
		t.Errorf("streams (-want +got):\n%s", diff)
	}
}

func TestQuantity(t *testing.T) {
	for want, c := range map[string]struct {
		n      int64
		format resource.Format
	}{
		"0":     {0, resource.BinarySI},
		"9999":  {9999, resource.DecimalSI},
		"10k":   {10000, resource.DecimalSI},
		"9999M": {9_999_999_999, resource.DecimalSI},
		"10G":   {10_999_999_999, resource.DecimalSI},
		"10239": {10239, resource.BinarySI},
		"10Ki":  {10240, resource.BinarySI},
		"21Mi":  {21<<20 + 12345, resource.BinarySI},
	} {
		t.Run(want, func(t *testing.T) {
			if got := quantity(c.n, c.format); got != want {
				t.Errorf("got %s", got)
			}
		})
	}
}
