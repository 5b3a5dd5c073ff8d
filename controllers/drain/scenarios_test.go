package drain

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/slots"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/placement"
)

// What has gone wrong with drains elsewhere, as a test each. docs/track-record.md has the table.

func statusOf(t *testing.T, set []condition.Condition, kind string) string {
	t.Helper()
	for _, c := range set {
		if c.Type == kind {
			return string(c.Status) + " " + c.Reason
		}
	}
	t.Fatalf("no condition %s in %v", kind, set)
	return ""
}

func TestADrainGoesOnWhereItWasAfterTheManagerWasRestarted(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	n := node("a", v1alpha1.ReasonNodeCordoned, stream("s1", "a"))
	n.node.Status.Drain = &v1alpha1.DrainStatus{StartedAt: metav1.NewTime(start), Total: 10}
	// A reconciler that remembers nothing: what it tells comes from the object and from the node's own state.
	got := progressOf(&view{now: start.Add(time.Minute)}, n, nil)
	if got.Total != 10 || got.Moved != 9 || got.Remaining != 1 || !got.StartedAt.Time.Equal(start) {
		t.Errorf("after a restart the drain stands at %+v", got)
	}
}

func TestANodeThatWasReplacedKeepsNoTransferAndNoSlot(t *testing.T) {
	waiting := drainTransfer("old-a", false)
	d := decide(&view{nodes: []*nodeView{node("new-a", ""), node("b", "")}, transfers: []v1alpha1.StreamTransfer{waiting}}, limits)
	if len(d.cancel) != 1 || d.cancel[0].Name != waiting.Name {
		t.Errorf("cancelled %v, want the transfer that waits for a node that is no more", d.cancel)
	}
}

func TestStreamsOfADeletedStreamNodeAreTakenOverAfterAWhile(t *testing.T) {
	ledger, start := slots.NewLedger(), time.Unix(1000, 0)
	owned := stream("s1", "a")
	owned.UID = types.UID("s1")
	ledger.Observe(&owned)
	r := &Reconciler{Slots: ledger, TakeoverAfter: 30 * time.Second}
	look := func(at time.Time, nodes ...v1alpha1.StreamNode) string {
		views := r.lookForMissing(nodes, at)
		if len(views) == 0 {
			return "nothing is missing"
		}
		return fmt.Sprintf("%s gone=%v", views[0].node.Name, views[0].gone)
	}
	registered := v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	got := []string{
		look(start), look(start.Add(29 * time.Second)), look(start.Add(30 * time.Second)),
		look(start.Add(31*time.Second), registered), look(start.Add(60 * time.Second)),
	}
	want := []string{"a gone=false", "a gone=false", "a gone=true", "nothing is missing", "a gone=false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is missing (-want +got):\n%s", diff)
	}
}

func TestWithTwoOfThreeNodesDrainedTheRestIsFilledAndTheOthersWaitVisibly(t *testing.T) {
	a, b, c := node("a", v1alpha1.ReasonNodeCordoned, stream("a1", "a"), stream("a2", "a")), node("b", v1alpha1.ReasonNodeCordoned, stream("b1", "b"), stream("b2", "b")), node("c", "")
	c.plan.Slots = 3
	d := decide(&view{nodes: []*nodeView{a, b, c}}, limits)
	var moves []string
	for _, move := range d.moves {
		moves = append(moves, move.Stream.Name+">"+move.Target)
	}
	if diff := cmp.Diff([]string{"a1>c", "b1>c", "a2>c"}, moves); diff != "" {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
	if got := statusOf(t, conditionsOf(b, d.blocked["b"]), v1alpha1.ConditionDrainBlocked); got != "True NoEligibleTarget" {
		t.Errorf("the stream without a place is told as %s", got)
	}
}

func TestANodeIsDrainedOnlyWhenItSaysItselfThatItHoldsNoSession(t *testing.T) {
	n := node("a", v1alpha1.ReasonNodeCordoned)
	n.node.Status.HoldsSessions = true
	if got := statusOf(t, conditionsOf(n, nil), v1alpha1.ConditionDrained); got != "False StreamsRemain" {
		t.Errorf("with an open session the node is told as %s", got)
	}
	n.node.Status.HoldsSessions = false
	if got := statusOf(t, conditionsOf(n, nil), v1alpha1.ConditionDrained); got != "True Empty" {
		t.Errorf("without one it is told as %s", got)
	}
}

func TestADeadNodeIsDrainedThoughItCannotSayThatItHoldsNoSession(t *testing.T) {
	n := node("a", v1alpha1.ReasonLeaseExpired)
	n.node.Status.HoldsSessions, n.gone = true, true
	if got := statusOf(t, conditionsOf(n, nil), v1alpha1.ConditionDrained); got != "True Empty" {
		t.Errorf("the node is told as %s", got)
	}
}

func TestADrainWinsOverAWishForTheDrainedNode(t *testing.T) {
	wishes := stream("s1", "a")
	wishes.Spec.NodeName = "a"
	d := decide(&view{nodes: []*nodeView{node("a", v1alpha1.ReasonNodeCordoned, wishes), node("b", "")}}, limits)
	if len(d.moves) != 1 || d.moves[0].Target != "b" {
		t.Errorf("moves %v, want the stream on b", d.moves)
	}
}

func TestEverySignalStartsADrainAndNothingElseDoes(t *testing.T) {
	r := &Reconciler{Taints: append(placement.DefaultDrainTaints(), "example.com/maintenance"), Slots: slots.NewLedger()}
	tainted := func(key string) corev1.Node {
		return corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoSchedule}}}}
	}
	for name, c := range map[string]struct {
		node       corev1.Node
		streamNode v1alpha1.StreamNode
		want       string
	}{
		"kubectl cordon":                  {node: corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}, want: v1alpha1.ReasonNodeCordoned},
		"the taint of kubectl cordon":     {node: tainted("node.kubernetes.io/unschedulable"), want: v1alpha1.ReasonTainted},
		"Cluster Autoscaler":              {node: tainted("ToBeDeletedByClusterAutoscaler"), want: v1alpha1.ReasonTainted},
		"Karpenter before v1":             {node: tainted("karpenter.sh/disruption"), want: v1alpha1.ReasonTainted},
		"Karpenter v1":                    {node: tainted("karpenter.sh/disrupted"), want: v1alpha1.ReasonTainted},
		"a taint of one's own":            {node: tainted("example.com/maintenance"), want: v1alpha1.ReasonTainted},
		"a node that is being deleted":    {node: corev1.Node{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{}}}, want: v1alpha1.ReasonNodeTerminating},
		"the StreamNode's own field":      {streamNode: v1alpha1.StreamNode{Spec: v1alpha1.StreamNodeSpec{Unschedulable: true}}, want: v1alpha1.ReasonUnschedulable},
		"an agent that is about to end":   {streamNode: v1alpha1.StreamNode{Status: v1alpha1.StreamNodeStatus{Stopping: true}}, want: v1alpha1.ReasonStopping},
		"a taint that sets a node apart":  {node: tainted("example.com/streams-only")},
		"a candidate of an autoscaler is": {node: tainted("DeletionCandidateOfClusterAutoscaler")},
		"a node at rest":                  {},
	} {
		t.Run(name, func(t *testing.T) {
			n := r.look(&c.streamNode, &c.node, time.Now())
			if n.reason != c.want {
				t.Errorf("drained because %q, want %q", n.reason, c.want)
			}
		})
	}
}

func TestANodeThatIsStoppingIsNoTargetAtOnce(t *testing.T) {
	r := &Reconciler{Slots: slots.NewLedger()}
	stopping := &v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: v1alpha1.StreamNodeStatus{Stopping: true, Conditions: []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}, {Type: v1alpha1.ConditionSchedulable, Status: metav1.ConditionTrue}}}}
	if n := r.look(stopping, nil, time.Now()); n.plan.Unfit == "" {
		t.Error("a node whose agent is about to end is a target still")
	}
}

// Three nodes are rebooted one after the other, as an upgrade does: streams leave the one that is drained, and it is free again
// before the next one is. They must not pile up on whichever node was first or is last.
func TestNodesDrainedInTurnDoNotPileStreamsUpOnOne(t *testing.T) {
	const streams = 12
	owner := map[string]string{}
	names := []string{"a", "b", "c"}
	for i := range streams {
		owner[fmt.Sprintf("s%02d", i)] = names[i%3]
	}
	count := func(name string) (owned int) {
		for _, node := range owner {
			if node == name {
				owned++
			}
		}
		return owned
	}
	for _, drained := range names {
		for count(drained) > 0 {
			v := &view{}
			for _, name := range names {
				var owned []v1alpha1.Stream
				for _, s := range slices.Sorted(maps.Keys(owner)) {
					if owner[s] == name {
						owned = append(owned, stream(s, name))
					}
				}
				reason := ""
				if name == drained {
					reason = v1alpha1.ReasonNodeCordoned
				}
				v.nodes = append(v.nodes, node(name, reason, owned...))
			}
			for _, move := range decide(v, placement.Limits{Total: 2, PerSource: 2, PerTarget: 2}).moves {
				owner[move.Stream.Name] = move.Target
			}
		}
		for _, name := range names {
			if owned := count(name); owned > streams/2 {
				t.Errorf("after the drain of %s, node %s has %d of %d streams", drained, name, owned, streams)
			}
		}
	}
}
