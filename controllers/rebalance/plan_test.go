package rebalance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

// worldOf has nodes a and b, and so many open streams, all of them on a.
func worldOf(streams int) *world {
	w := &world{now: noon, zones: map[string]string{}, used: map[string]int{"a": streams}, busy: map[string]bool{}, coolDowns: map[types.UID]time.Duration{}}
	for _, name := range []string{"a", "b"} {
		w.nodes = append(w.nodes, v1alpha1.StreamNode{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.StreamNodeSpec{Slots: 100},
			Status: v1alpha1.StreamNodeStatus{
				StartedAt: &metav1.Time{Time: noon.Add(-time.Hour)},
				Conditions: condition.Merge(nil, 1, metav1.Time{},
					condition.True(v1alpha1.ConditionReady, "AsExpected", ""), condition.True(v1alpha1.ConditionSchedulable, "AsExpected", "")),
			},
		})
	}
	for i := range streams {
		w.streams = append(w.streams, v1alpha1.Stream{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("s%d", i), UID: types.UID(fmt.Sprintf("uid-%d", i))},
			Status:     v1alpha1.StreamStatus{Node: "a", Epoch: 3, State: v1alpha1.StreamOpen},
		})
	}
	return w
}

func TestMakePlan(t *testing.T) {
	for name, c := range map[string]struct {
		change       func(*world, *v1alpha1.StreamRebalance)
		want         []string
		wantExcluded []string
	}{
		"half of the streams go": {func(*world, *v1alpha1.StreamRebalance) {}, []string{"s0", "s1"}, nil},
		"streams of other namespaces stay, and count": {func(w *world, _ *v1alpha1.StreamRebalance) {
			w.streams[0].Namespace, w.streams[1].Namespace, w.streams[2].Namespace = "other", "other", "other"
		}, []string{"s3"}, nil},
		"the selector chooses": {func(w *world, r *v1alpha1.StreamRebalance) {
			w.streams[3].Labels = map[string]string{"tier": "cold"}
			r.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "cold"}}
		}, []string{"s3"}, nil},
		"streams stay whose place is written down, that a drain would leave, that are busy, or not open": {func(w *world, _ *v1alpha1.StreamRebalance) {
			w.streams[0].Spec.NodeName = "a"
			w.streams[1].Spec.DrainPolicy = v1alpha1.DrainStay
			w.busy["default/s2"] = true
			w.streams[3].Status.State = v1alpha1.StreamOpening
		}, nil, nil},
		"streams stay in their cool-down": {func(w *world, _ *v1alpha1.StreamRebalance) {
			for i, ago := range []time.Duration{599 * time.Second, 600 * time.Second, 11 * time.Minute, time.Hour} {
				w.streams[i].Status.LastTransfer = &v1alpha1.LastTransfer{UID: types.UID(fmt.Sprintf("t%d", i)), CommittedAt: metav1.NewMicroTime(noon.Add(-ago))}
			}
			w.coolDowns["t2"] = 20 * time.Minute
		}, []string{"s1", "s3"}, nil},
		"a node that has just started gets nothing": {func(w *world, _ *v1alpha1.StreamRebalance) {
			w.nodes[1].Status.StartedAt = &metav1.Time{Time: noon.Add(-299 * time.Second)}
		}, nil, []string{"b has run for less than 5m0s"}},
		"nor does one that drains": {func(w *world, _ *v1alpha1.StreamRebalance) { w.nodes[1].Spec.Unschedulable = true }, nil, []string{"b is unschedulable"}},
		"F3: nor does one that is slow, and so looks idle": {func(w *world, _ *v1alpha1.StreamRebalance) {
			w.nodes[0].Status.Load = &v1alpha1.NodeLoad{RequestsPerSecond: 100, AppendMicros: 20_000}
			w.nodes[1].Status.Load = &v1alpha1.NodeLoad{RequestsPerSecond: 1, AppendMicros: 500_000}
		}, nil, []string{"b is slow: an append takes 500ms, and 20ms on the median node"}},
		"nodes outside of the selector take no part": {func(w *world, r *v1alpha1.StreamRebalance) {
			r.Spec.NodeSelector = map[string]v1alpha1.LabelValue{"disk": "ssd"}
		}, nil, []string{"a is not selected", "b is not selected"}},
		"streams keep to their zone where they are to": {func(w *world, r *v1alpha1.StreamRebalance) {
			r.Spec.Zones = v1alpha1.ZoneKeep
			w.zones["a"], w.zones["b"] = "x", "y"
		}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := worldOf(4)
			object := &v1alpha1.StreamRebalance{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "even"},
				Spec: v1alpha1.StreamRebalanceSpec{
					Strategy: v1alpha1.RebalanceCount, Zones: v1alpha1.ZoneAny, ThresholdPercent: 20, MaxMoves: 100, CoolDownSeconds: 600, MinNodeAgeSeconds: 300,
				},
			}
			c.change(w, object)
			p, err := makePlan(object, w)
			if err != nil {
				t.Fatal(err)
			}
			var moved, excluded []string
			for _, move := range p.Moves {
				moved = append(moved, move.Stream)
			}
			for _, e := range p.Excluded {
				excluded = append(excluded, e.Node+" "+e.Why)
			}
			if diff := cmp.Diff(c.want, moved); diff != "" {
				t.Errorf("moved (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.wantExcluded, excluded); diff != "" {
				t.Errorf("excluded (-want +got):\n%s", diff)
			}
		})
	}
}

func TestThePlanTakesTheLoadFromTheNodesReports(t *testing.T) {
	w := worldOf(4)
	w.nodes[0].Status.Load = &v1alpha1.NodeLoad{BytesPerSecond: 1000, Streams: []v1alpha1.StreamLoad{{Stream: "default/s2", BytesPerSecond: 500}}}
	object := &v1alpha1.StreamRebalance{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default"},
		Spec:       v1alpha1.StreamRebalanceSpec{Strategy: v1alpha1.RebalanceBytes, ThresholdPercent: 20, MaxMoves: 100},
	}
	p, err := makePlan(object, w)
	if err != nil {
		t.Fatal(err)
	}
	want := []v1alpha1.RebalanceMove{{Stream: "s2", StreamUID: "uid-2", Source: "a", Target: "b", Epoch: 3}}
	if diff := cmp.Diff(want, p.Moves); diff != "" || p.Before != 100 || p.After != 0 {
		t.Errorf("before %d, after %d, moves (-want +got):\n%s", p.Before, p.After, diff)
	}
}

func TestAPlanIsKeptWithinTheLimitOfAnObject(t *testing.T) {
	move := v1alpha1.RebalanceMove{Stream: strings.Repeat("x", 253), StreamUID: "uid", Source: "a", Target: "b", Epoch: 1}
	p := &plan{}
	for range 10_000 {
		p.Moves = append(p.Moves, move)
	}
	p.trim()
	if kept := len(p.Moves); kept < 1000 || kept == 10_000 {
		t.Errorf("%d moves are kept", kept)
	}
	small := planOf(100)
	if small.trim(); len(small.Moves) != 100 {
		t.Errorf("%d moves of 100 are kept", len(small.Moves))
	}
	if same, other := planOf(2).hash(), planOf(3).hash(); planOf(2).hash() != same || same == other {
		t.Errorf("hashes %s and %s", same, other)
	}
}
