package fleet

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

func stream(name, owner, target, notReady string) *v1alpha1.Stream {
	s := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Status: v1alpha1.StreamStatus{Node: owner}}
	if target != "" {
		s.Status.PendingTransfer = &v1alpha1.PendingTransfer{Target: target}
	}
	if notReady != "" {
		s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: notReady}}
	}
	return s
}

func node(name string, ready metav1.ConditionStatus) *v1alpha1.StreamNode {
	return &v1alpha1.StreamNode{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.StreamNodeSpec{Slots: 10},
		Status: v1alpha1.StreamNodeStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: ready}}},
	}
}

func rebalance(name, schedule string, phase v1alpha1.RebalancePhase) *v1alpha1.StreamRebalance {
	return &v1alpha1.StreamRebalance{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: v1alpha1.StreamRebalanceSpec{Schedule: schedule},
		Status: v1alpha1.StreamRebalanceStatus{Phase: phase},
	}
}

func TestEveryNodeReasonAndPhaseIsCounted(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	objects := []client.Object{
		node("node-a", metav1.ConditionTrue), node("node-b", metav1.ConditionUnknown),
		stream("one", "node-a", "", ""), stream("two", "node-a", "node-b", ""), stream("three", "node-b", "", v1alpha1.ReasonCannotOpen),
		stream("four", "", "", v1alpha1.ReasonNoEligibleNode),
		rebalance("nightly", "30 2 * * *", v1alpha1.RebalanceFailed), rebalance("weekly", "30 2 * * 0", v1alpha1.RebalanceFailed),
		rebalance("once", "", v1alpha1.RebalanceFailed),
	}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	want := `
# HELP streamshift_fleet_node_inbound_transfers Pending transfers to a node.
# TYPE streamshift_fleet_node_inbound_transfers gauge
streamshift_fleet_node_inbound_transfers{node="node-a"} 0
streamshift_fleet_node_inbound_transfers{node="node-b"} 1
# HELP streamshift_fleet_node_ready Whether a node is ready: 1 where it is.
# TYPE streamshift_fleet_node_ready gauge
streamshift_fleet_node_ready{node="node-a"} 1
streamshift_fleet_node_ready{node="node-b"} 0
# HELP streamshift_fleet_node_slots Streams that a node may hold.
# TYPE streamshift_fleet_node_slots gauge
streamshift_fleet_node_slots{node="node-a"} 10
streamshift_fleet_node_slots{node="node-b"} 10
# HELP streamshift_fleet_node_streams Streams that a node owns.
# TYPE streamshift_fleet_node_streams gauge
streamshift_fleet_node_streams{node="node-a"} 2
streamshift_fleet_node_streams{node="node-b"} 1
# HELP streamshift_fleet_not_ready_streams Streams that no node serves, by the reason of their condition Ready.
# TYPE streamshift_fleet_not_ready_streams gauge
streamshift_fleet_not_ready_streams{reason="CannotOpen"} 1
streamshift_fleet_not_ready_streams{reason="NoEligibleNode"} 1
# HELP streamshift_fleet_rebalances Rebalances, by the phase of their latest plan and by whether they have a schedule.
# TYPE streamshift_fleet_rebalances gauge
streamshift_fleet_rebalances{phase="Failed",scheduled="false"} 1
streamshift_fleet_rebalances{phase="Failed",scheduled="true"} 2
`
	if err := testutil.CollectAndCompare(New(reader, logr.Discard()), strings.NewReader(want)); err != nil {
		t.Error(err)
	}
}
