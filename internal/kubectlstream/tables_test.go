package kubectlstream

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/routing/streamname"
)

// noon is when everything in the tests of this package happens.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func before(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

func microBefore(d time.Duration) metav1.MicroTime { return metav1.NewMicroTime(noon.Add(-d)) }

func conditions(set ...condition.Condition) []metav1.Condition {
	return condition.Merge(nil, 1, metav1.NewTime(noon), set...)
}

// openStream is open on node-a since a minute, at epoch 7.
func openStream(name string) v1alpha1.Stream {
	return v1alpha1.Stream{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "uid-of-stream", CreationTimestamp: before(time.Hour)},
		Status: v1alpha1.StreamStatus{
			Node: "node-a", Epoch: 7, State: v1alpha1.StreamOpen, OpenedAt: new(microBefore(time.Minute)),
			Conditions: conditions(condition.True(v1alpha1.ConditionReady, v1alpha1.ReasonOpen, "The stream is open.")),
		},
	}
}

// readyNode takes streams.
func readyNode(name string) v1alpha1.StreamNode {
	return v1alpha1.StreamNode{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: before(2 * time.Hour)},
		Spec:       v1alpha1.StreamNodeSpec{Slots: 100},
		Status: v1alpha1.StreamNodeStatus{
			Address: "http://" + name + ":4438", Streams: 40, Inbound: 2,
			Conditions: conditions(condition.True(v1alpha1.ConditionReady, "R", ""), condition.True(v1alpha1.ConditionSchedulable, "R", "")),
		},
	}
}

// drainingNode has moved 12 of 40 streams.
func drainingNode(name string, set ...condition.Condition) v1alpha1.StreamNode {
	node := readyNode(name)
	node.Status.Drain = &v1alpha1.DrainStatus{StartedAt: before(12 * time.Second), Total: 40, Moved: 12, Remaining: 28}
	node.Status.Conditions = condition.Merge(node.Status.Conditions, 1, metav1.NewTime(noon), append([]condition.Condition{
		condition.False(v1alpha1.ConditionSchedulable, v1alpha1.ReasonNodeCordoned, "The Kubernetes node is cordoned."),
		condition.True(v1alpha1.ConditionDraining, v1alpha1.ReasonNodeCordoned, "The Kubernetes node is cordoned."),
	}, set...)...)
	return node
}

func printed(t *testing.T, table *metav1.Table, wide bool) string {
	t.Helper()
	var text strings.Builder
	if err := printers.NewTablePrinter(printers.PrintOptions{Wide: wide}).PrintObj(table, &text); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(text.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return "\n" + strings.Join(lines, "\n")
}

//nolint:dupword // tables repeat words
func TestTables(t *testing.T) {
	object, err := streamname.Object("Shop/Orders")
	if err != nil {
		t.Fatal(err)
	}
	moving, unplaced := openStream(object), openStream("new")
	moving.Status.PendingTransfer = &v1alpha1.PendingTransfer{Name: "move", Target: "node-b"}
	unplaced.Namespace = "shop"
	unplaced.Status = v1alpha1.StreamStatus{
		Conditions: conditions(condition.False(v1alpha1.ConditionReady, v1alpha1.ReasonNoEligibleNode, "3 nodes are full.")),
	}
	streams := []v1alpha1.Stream{openStream("orders"), moving, unplaced}
	gone, empty := readyNode("node-b"), readyNode("node-c")
	gone.Status.Conditions = conditions(condition.Unknown(v1alpha1.ConditionReady, v1alpha1.ReasonLeaseExpired, "Its lease ran out."))
	empty.Status.Streams, empty.Status.Inbound, empty.Status.Address = 0, 0, ""
	nodes := []v1alpha1.StreamNode{drainingNode("node-a"), gone, empty}

	for name, c := range map[string]struct {
		table *metav1.Table
		wide  bool
		want  string
	}{
		"streams of one namespace": {streamTable(streams[:2], false, noon), false, `
NAME          NODE     EPOCH   STATE   TRANSFER    READY   AGE
orders        node-a   7       Open    <none>      True    60m
Shop/Orders   node-a   7       Open    to node-b   True    60m
`},
		"streams of all namespaces, wide": {streamTable(streams, true, noon), true, `
NAMESPACE   NAME          NODE     EPOCH   STATE    TRANSFER    READY   AGE   SINCE    OBJECT                  WHY
default     orders        node-a   7       Open     <none>      True    60m   60s      orders                  <none>
default     Shop/Orders   node-a   7       Open     to node-b   True    60m   60s      x--adk6us1f9tp68pbiec   <none>
shop        new           <none>   0       <none>   <none>      False   60m   <none>   new                     3 nodes are full.
`},
		"nodes": {nodeTable(nodes, noon), false, `
NAME     READY     SCHEDULABLE   DRAIN         STREAMS   INBOUND   SLOTS   AGE
node-a   True      False         12/40 moved   40        2         100     120m
node-b   Unknown   Unknown       <none>        40        2         100     120m
node-c   True      True          <none>        0         0         100     120m
`},
		"nodes, wide": {nodeTable(nodes, noon), true, `
NAME     READY     SCHEDULABLE   DRAIN         STREAMS   INBOUND   SLOTS   AGE    ADDRESS              WHY
node-a   True      False         12/40 moved   40        2         100     120m   http://node-a:4438   The Kubernetes node is cordoned.
node-b   Unknown   Unknown       <none>        40        2         100     120m   http://node-b:4438   Its lease ran out.
node-c   True      True          <none>        0         0         100     120m   <none>               <none>
`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, printed(t, c.table, c.wide)); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDrainWord(t *testing.T) {
	blocked := drainingNode("a")
	blocked.Status.Drain.Blocked = 2
	early := drainingNode("a")
	early.Status.Drain = nil
	for want, node := range map[string]v1alpha1.StreamNode{
		none:                     readyNode("a"),
		"draining":               early,
		"12/40 moved":            drainingNode("a"),
		"12/40 moved, 2 blocked": blocked,
		"drained":                drainingNode("a", condition.True(v1alpha1.ConditionDrained, v1alpha1.ReasonEmpty, "")),
	} {
		t.Run(want, func(t *testing.T) {
			if got := drainWord(&node); got != want {
				t.Errorf("got %q", got)
			}
		})
	}
}
