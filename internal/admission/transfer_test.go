package admission

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

// TestTransfer holds the sentences that users read: each says what is wrong and what to do.
func TestTransfer(t *testing.T) {
	moment := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	view := func(change func(*View)) View {
		v := View{
			Transfer: &v1alpha1.StreamTransfer{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}, Spec: v1alpha1.StreamTransferSpec{Stream: "orders", Target: "b"}},
			Stream:   &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Name: "orders"}, Status: v1alpha1.StreamStatus{Node: "a", Epoch: 7, State: v1alpha1.StreamOpen}},
			Target:   &v1alpha1.StreamNode{Spec: v1alpha1.StreamNodeSpec{Slots: 5}},
		}
		v.Target.Status.Conditions = condition.Merge(nil, 1, metav1.NewTime(moment),
			condition.True(v1alpha1.ConditionReady, "R", ""), condition.True(v1alpha1.ConditionSchedulable, "R", ""))
		change(&v)
		return v
	}
	set := func(v *View, c condition.Condition) {
		v.Target.Status.Conditions = condition.Merge(v.Target.Status.Conditions, 1, metav1.NewTime(moment), c)
	}
	pendingTo := func(target string) func(*View) {
		return func(v *View) {
			v.Stream.Status.PendingTransfer = &v1alpha1.PendingTransfer{Name: "first", Target: target, AcceptedAt: metav1.NewMicroTime(moment)}
		}
	}
	for name, c := range map[string]struct {
		change func(*View)
		want   string // the message; empty: accepted
	}{
		"valid":                       {func(*View) {}, ""},
		"the last free slot":          {func(v *View) { v.TargetUsed = 4 }, ""},
		"the same as the pending one": {pendingTo("b"), ""},
		"on its target already":       {func(v *View) { v.Stream.Status.Node = "b"; v.TargetUsed = 5 }, ""},
		"of a stream without owner":   {func(v *View) { v.Stream.Status = v1alpha1.StreamStatus{}; v.Transfer.Spec.Source = "a" }, ""},
		"of a stream that does not exist": {func(v *View) { v.Stream = nil },
			`stream "orders" does not exist in namespace "default": create it first, or correct spec.stream`},
		"of a stream that is being deleted": {func(v *View) { v.Stream.DeletionTimestamp = &metav1.Time{Time: moment} },
			`stream "orders" is being deleted`},
		"another one is pending": {pendingTo("c"),
			`stream "orders" is already transferring: transfer "first" takes it to node "c" since 2026-03-01T12:00:00Z; wait until it ends, or cancel it`},
		"another source": {func(v *View) { v.Transfer.Spec.Source = "c" },
			`stream "orders" is owned by node "a", not by spec.source "c": nothing is transferred`},
		"another epoch": {func(v *View) { v.Transfer.Spec.ExpectedEpoch = new(int64(6)) },
			`stream "orders" is at epoch 7, not at spec.expectedEpoch 6: it was opened anew since the transfer was written, and nothing is transferred`},
		"an unknown target": {func(v *View) { v.Target = nil },
			`target node "b" is not registered: "kubectl get streamnodes" lists the nodes that are`},
		"a target that is being removed": {func(v *View) { v.Target.DeletionTimestamp = &metav1.Time{Time: moment} },
			`target node "b" is being removed`},
		"a target that is not ready": {func(v *View) { set(v, condition.Unknown(v1alpha1.ConditionReady, "R", "Its lease ran out.")) },
			`target node "b" is not ready: Its lease ran out.`},
		"a target that nobody has looked at": {func(v *View) { v.Target.Status.Conditions = nil },
			`target node "b" is not ready: the manager has not looked at it yet; try again in a moment`},
		"a target that takes no streams": {func(v *View) { v.Target.Spec.Unschedulable = true },
			`target node "b" takes no streams: its spec.unschedulable is set`},
		"a cordoned target": {func(v *View) {
			set(v, condition.False(v1alpha1.ConditionSchedulable, "R", "The Kubernetes node is cordoned."))
		},
			`target node "b" takes no streams: The Kubernetes node is cordoned.`},
		"no free slot": {func(v *View) { v.TargetUsed = 5 },
			`target node "b" has no free slot: 5 of 5 are taken; choose another node, or raise spec.slots of the StreamNode`},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if refusal := Transfer(view(c.change)); refusal != nil {
				got = refusal.Message
			}
			if got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
