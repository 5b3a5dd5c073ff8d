package rebalance

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

func TestJudge(t *testing.T) {
	const hash = "0123456789abcdef"
	transfer := func(plan string, set ...condition.Condition) *v1alpha1.StreamTransfer {
		return &v1alpha1.StreamTransfer{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.LabelPlan: plan}},
			Status:     v1alpha1.StreamTransferStatus{Conditions: condition.Merge(nil, 1, metav1.Time{}, set...)},
		}
	}
	ended := func(reason string) []condition.Condition {
		return []condition.Condition{condition.False("Ready", reason, "because"), condition.True("Stalled", reason, "because")}
	}
	for name, c := range map[string]struct {
		change     func(*moveView)
		want       outcome
		wantReason string
	}{
		"as planned":                    {func(*moveView) {}, toStart, ""},
		"its transfer is under way":     {func(v *moveView) { v.transfer = transfer(hash) }, underWay, ""},
		"its transfer succeeded":        {func(v *moveView) { v.transfer = transfer(hash, condition.True("Ready", "Succeeded", "")) }, succeeded, ""},
		"F11: somebody else was faster": {func(v *moveView) { v.transfer = transfer(hash, ended("EpochMismatch")...) }, skipped, "EpochMismatch"},
		"its transfer failed":           {func(v *moveView) { v.transfer = transfer(hash, ended("DeadlineExceeded")...) }, failed, "DeadlineExceeded"},
		"another plan's transfer of it": {func(v *moveView) {
			v.transfer = transfer("other")
			v.stream.Status.PendingTransfer = &v1alpha1.PendingTransfer{}
		}, waits, "Waiting"},
		"its transfer ended and was deleted": {func(v *moveView) {
			v.stream.Status.Node, v.stream.Status.Epoch = "b", 6
			v.stream.Status.LastTransfer = &v1alpha1.LastTransfer{Name: "s-rebalance-5", ClosedEpoch: 5}
		}, succeeded, ""},
		"the stream is gone":                   {func(v *moveView) { v.stream = nil }, skipped, "StreamDeleted"},
		"it was deleted and created anew":      {func(v *moveView) { v.stream.UID = "other" }, skipped, "StreamDeleted"},
		"it was opened anew":                   {func(v *moveView) { v.stream.Status.Epoch = 6 }, skipped, "StreamMovedOn"},
		"it went elsewhere":                    {func(v *moveView) { v.stream.Status.Node = "c" }, skipped, "StreamMovedOn"},
		"its place was written down meanwhile": {func(v *moveView) { v.stream.Spec.NodeName = "a" }, skipped, "Pinned"},
		"the target is gone":                   {func(v *moveView) { v.target = nil }, skipped, "TargetNotFound"},
		"the target drains":                    {func(v *moveView) { v.target.Spec.Unschedulable = true }, skipped, "TargetUnavailable"},
		"the target has its last slot free":    {func(v *moveView) { v.targetUsed = 9 }, toStart, ""},
		"the target has no slot free":          {func(v *moveView) { v.targetUsed = 10 }, skipped, "TargetFull"},
	} {
		t.Run(name, func(t *testing.T) {
			v := &moveView{
				move:   v1alpha1.RebalanceMove{Stream: "s", StreamUID: "uid", Source: "a", Target: "b", Epoch: 5},
				stream: &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Name: "s", UID: "uid"}, Status: v1alpha1.StreamStatus{Node: "a", Epoch: 5}},
				target: &v1alpha1.StreamNode{
					ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: v1alpha1.StreamNodeSpec{Slots: 10},
					Status: v1alpha1.StreamNodeStatus{Conditions: condition.Merge(nil, 1, metav1.Time{},
						condition.True(v1alpha1.ConditionReady, "AsExpected", ""), condition.True(v1alpha1.ConditionSchedulable, "AsExpected", ""))},
				},
			}
			c.change(v)
			got := judge(v, hash)
			if got.outcome != c.want || got.reason != c.wantReason {
				t.Errorf("got %d, %s: %s", got.outcome, got.reason, got.message)
			}
		})
	}
}
