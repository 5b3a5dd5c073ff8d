package rescue

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/placement"
)

func TestDecide(t *testing.T) {
	const within = 30 * time.Second
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	node := func(ready condition.Condition) *v1alpha1.StreamNode {
		n := &v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
		n.Status.Conditions = condition.Merge(nil, 1, metav1.NewTime(began), ready)
		return n
	}
	alive := node(condition.True(v1alpha1.ConditionReady, v1alpha1.ReasonAsExpected, ""))
	gone := node(condition.Unknown(v1alpha1.ConditionReady, v1alpha1.ReasonLeaseExpired, ""))
	for name, c := range map[string]struct {
		change     func(*view)
		wantTarget string
		wantAgain  time.Duration
	}{
		"an owner that has tried for long":          {func(*view) {}, "b", lookAgain},
		"one that has a millisecond left":           {func(v *view) { v.now = v.now.Add(-time.Millisecond) }, "", time.Millisecond},
		"one that has opened the stream":            {func(v *view) { v.stream.Status.State = v1alpha1.StreamOpen }, "", 0},
		"one that may try for ever":                 {func(v *view) { v.within = 0 }, "", 0},
		"one that is gone is taken over, elsewhere": {func(v *view) { v.owner = gone }, "", lookAgain},
		"one whose stream is leaving already": {func(v *view) {
			v.stream.Status.PendingTransfer = &v1alpha1.PendingTransfer{Target: "c"}
		}, "", lookAgain},
		"one that got the stream a moment ago": {func(v *view) {
			v.stream.Status.LastTransfer = &v1alpha1.LastTransfer{CommittedAt: metav1.NewMicroTime(v.now.Add(-time.Second))}
		}, "", within - time.Second},
		"no other node is fit":                    {func(v *view) { v.nodes[1].Unfit = "is not ready" }, "", lookAgain},
		"the stream shall be on this node only":   {func(v *view) { v.stream.Spec.NodeName = "a" }, "", lookAgain},
		"the stream is being deleted":             {func(v *view) { v.stream.DeletionTimestamp = &metav1.Time{Time: began} }, "", 0},
		"the stream's labels are not the other's": {func(v *view) { v.stream.Spec.NodeSelector = map[string]v1alpha1.LabelValue{"zone": "x"} }, "", lookAgain},
	} {
		t.Run(name, func(t *testing.T) {
			stream := &v1alpha1.Stream{Status: v1alpha1.StreamStatus{Node: "a", Epoch: 3, State: v1alpha1.StreamOpening}}
			stream.Status.Conditions = condition.Merge(nil, 1, metav1.NewTime(began), condition.OfStream(&stream.Status)...)
			v := &view{
				stream: stream, within: within, now: began.Add(within), owner: alive,
				nodes: []placement.Node{{Name: "a", Slots: 9}, {Name: "b", Slots: 9, Used: 8}},
			}
			c.change(v)
			got := decide(v)
			if got.target != c.wantTarget || got.again != c.wantAgain || got.reason == "" {
				t.Errorf("got %+v, want target %q, again after %v, and a reason", got, c.wantTarget, c.wantAgain)
			}
		})
	}
}

// TestPatienceGrows: a stream that nobody can open goes from node to node ever more slowly.
func TestPatienceGrows(t *testing.T) {
	const within = 30 * time.Second
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(committed time.Duration) *v1alpha1.Stream {
		stream := &v1alpha1.Stream{Status: v1alpha1.StreamStatus{Node: "a", Epoch: 3, State: v1alpha1.StreamOpening}}
		stream.Status.LastTransfer = &v1alpha1.LastTransfer{CommittedAt: metav1.NewMicroTime(began.Add(committed))}
		stream.Status.Conditions = condition.Merge(nil, 1, metav1.NewTime(began), condition.OfStream(&stream.Status)...)
		return stream
	}
	open := at(time.Hour)
	open.Status.State = v1alpha1.StreamOpen
	for name, c := range map[string]struct {
		stream *v1alpha1.Stream
		within time.Duration
		want   time.Duration
	}{
		"the first owner":               {at(-time.Hour), within, within},
		"one that came at once":         {at(0), within, within},
		"one after a few others":        {at(3 * time.Minute), within, 90 * time.Second},
		"one after very many":           {at(time.Hour), within, 20 * within},
		"one that has opened it":        {open, within, within},
		"one that may try for ever yet": {at(time.Hour), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := patience(c.stream, c.within); got != c.want {
				t.Errorf("it may try for %v, want %v", got, c.want)
			}
		})
	}
}
