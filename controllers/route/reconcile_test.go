package route

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/routing"
)

// readOnly is a client that cannot write.
type readOnly struct{ client.Reader }

func TestStreamsBecomeRoutes(t *testing.T) {
	ctx, api, table := t.Context(), cluster.Client(), routing.NewTable()
	r := &StreamReconciler{Client: readOnly{api}, Table: table}
	stream := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "orders"}}
	name := routing.Stream{Namespace: "default", Name: "orders"}
	if err := api.Create(ctx, stream); err != nil {
		t.Fatalf("making a stream: %v", err)
	}
	uid := string(stream.UID)
	steps := []struct {
		name string
		step func()
		want routing.Route
	}{
		{"not placed", func() {}, routing.Route{UID: uid}},
		{"placed", func() {
			stream.Status.Node, stream.Status.Epoch, stream.Status.State = "node-a", 1, v1alpha1.StreamOpening
		}, routing.Route{UID: uid, Epoch: 1, Owner: "node-a"}},
		{"being transferred", func() {
			stream.Status.PendingTransfer = &v1alpha1.PendingTransfer{
				Name: "move", UID: "transfer", Source: "node-a", Target: "node-b", AcceptedAt: metav1.NowMicro(),
			}
		}, routing.Route{UID: uid, Epoch: 1, Owner: "node-a", Target: "node-b", Transfer: "transfer"}},
		{"completed", func() {
			stream.Status.Node, stream.Status.Epoch, stream.Status.PendingTransfer = "node-b", 2, nil
			stream.Status.State = v1alpha1.StreamOpening
			stream.Status.LastTransfer = &v1alpha1.LastTransfer{
				Name: "move", UID: "transfer", Source: "node-a", Target: "node-b", ClosedEpoch: 1,
				AcceptedAt: metav1.NowMicro(), CommittedAt: metav1.NowMicro(),
			}
		}, routing.Route{UID: uid, Epoch: 2, Owner: "node-b", Transfer: "transfer"}},
	}
	for _, s := range steps {
		s.step()
		if err := api.Status().Update(ctx, stream); err != nil {
			t.Fatalf("%s: writing the register: %v", s.name, err)
		}
		observe(t, r.Reconcile, client.ObjectKeyFromObject(stream))
		got, known, _ := table.Route(name)
		if diff := cmp.Diff(s.want, got); !known || diff != "" {
			t.Errorf("%s: known %t, the route differs (-want +got):\n%s", s.name, known, diff)
		}
	}
	if err := api.Delete(ctx, stream); err != nil {
		t.Fatalf("deleting the stream: %v", err)
	}
	observe(t, r.Reconcile, client.ObjectKeyFromObject(stream))
	if _, known, _ := table.Route(name); known {
		t.Error("a stream that is gone still has a route")
	}
}

func TestNodesBecomeKnown(t *testing.T) {
	ctx, api, table := t.Context(), cluster.Client(), routing.NewTable()
	r := &NodeReconciler{Client: readOnly{api}, Table: table}
	node := &v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}, Spec: v1alpha1.StreamNodeSpec{Slots: 1}}
	if err := api.Create(ctx, node); err != nil {
		t.Fatalf("making a node: %v", err)
	}
	for ready, status := range map[bool]metav1.ConditionStatus{true: metav1.ConditionTrue, false: metav1.ConditionUnknown} {
		node.Status.Address = "http://127.0.0.1:1"
		node.Status.Conditions = []metav1.Condition{{
			Type: v1alpha1.ConditionReady, Status: status, Reason: "AsExpected", LastTransitionTime: metav1.Now(),
		}}
		if err := api.Status().Update(ctx, node); err != nil {
			t.Fatalf("writing the node's status: %v", err)
		}
		observe(t, r.Reconcile, client.ObjectKeyFromObject(node))
		nodes, _ := table.Nodes()
		want := map[string]routing.NodeState{"node-a": {Address: "http://127.0.0.1:1", Ready: ready}}
		if diff := cmp.Diff(want, nodes); diff != "" {
			t.Errorf("with Ready %s the nodes differ (-want +got):\n%s", status, diff)
		}
	}
	if err := api.Delete(ctx, node); err != nil {
		t.Fatalf("deleting the node: %v", err)
	}
	observe(t, r.Reconcile, client.ObjectKeyFromObject(node))
	if nodes, _ := table.Nodes(); len(nodes) != 0 {
		t.Errorf("a node that is gone is still known: %v", nodes)
	}
}

// TestTrimKeepsWhatARouteIsMadeFrom: what the cache drops is not missed.
func TestTrimKeepsWhatARouteIsMadeFrom(t *testing.T) {
	stream := &v1alpha1.Stream{
		ObjectMeta: metav1.ObjectMeta{UID: "u", Labels: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{}}},
		Spec:       v1alpha1.StreamSpec{ContentType: "text/plain"},
		Status: v1alpha1.StreamStatus{
			Node: "node-a", Epoch: 3, LastTransfer: &v1alpha1.LastTransfer{},
			PendingTransfer: &v1alpha1.PendingTransfer{Target: "node-b"},
		},
	}
	want := routeOf(stream)
	if _, err := trim(stream); err != nil {
		t.Fatalf("trim: %v", err)
	}
	if diff := cmp.Diff(want, routeOf(stream)); diff != "" {
		t.Errorf("the route differs (-before +after):\n%s", diff)
	}
	if stream.Labels != nil || stream.ManagedFields != nil || stream.Spec.ContentType != "" || stream.Status.LastTransfer != nil {
		t.Errorf("what no route is made from is kept: %+v", stream)
	}
}

func observe(t *testing.T, f func(context.Context, ctrl.Request) (ctrl.Result, error), key client.ObjectKey) {
	t.Helper()
	result, err := f(t.Context(), ctrl.Request{NamespacedName: key})
	if err != nil || result != (ctrl.Result{}) {
		t.Fatalf("Reconcile = %+v, %v", result, err)
	}
}
