package drain

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/placement"
)

func TestProgressOf(t *testing.T) {
	start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) metav1.Time { return metav1.NewTime(start.Add(time.Duration(seconds) * time.Second)) }
	many := func(count int) (streams []v1alpha1.Stream) {
		for range count {
			streams = append(streams, stream("s", "a"))
		}
		return streams
	}
	for name, c := range map[string]struct {
		streams []v1alpha1.Stream
		before  *v1alpha1.DrainStatus
		stopsAt *metav1.Time
		failed  map[string]bool
		blocked []placement.Blocker
		want    *v1alpha1.DrainStatus
	}{
		"at its beginning nothing is foreseen": {streams: many(3), want: &v1alpha1.DrainStatus{StartedAt: at(10), Total: 3, Remaining: 3}},
		"it goes on as it did until now": {
			streams: many(20), before: &v1alpha1.DrainStatus{StartedAt: at(0), Total: 120},
			want: &v1alpha1.DrainStatus{StartedAt: at(0), Total: 120, Moved: 100, Remaining: 20, EstimatedEnd: new(at(12))}},
		"an agent that ends before that leaves streams behind, and that is said": {
			streams: many(20), before: &v1alpha1.DrainStatus{StartedAt: at(0), Total: 120}, stopsAt: new(at(11)),
			want: &v1alpha1.DrainStatus{StartedAt: at(0), Total: 120, Moved: 100, Remaining: 20, EstimatedEnd: new(at(12)), Late: 10}},
		"also before any has left: 500 streams do not fit into a second": {
			streams: many(500), stopsAt: new(at(11)), want: &v1alpha1.DrainStatus{StartedAt: at(10), Total: 500, Remaining: 500, Late: 450}},
		"what is blocked will be late": {
			streams: many(1), stopsAt: new(at(100)), blocked: []placement.Blocker{{Stream: "default/s", Reason: "StayPolicy"}},
			want: &v1alpha1.DrainStatus{
				StartedAt: at(10), Total: 1, Remaining: 1, Blocked: 1, Late: 1, Blockers: []v1alpha1.DrainBlocker{{Stream: "default/s", Reason: "StayPolicy"}}}},
		"a stream whose last transfer failed is counted": {
			streams: many(1), failed: map[string]bool{"default/s-drain-3": true},
			want: &v1alpha1.DrainStatus{StartedAt: at(10), Total: 1, Remaining: 1, Failed: 1}},
		"an earlier failure, of another epoch, is not": {
			streams: many(1), failed: map[string]bool{"default/s-drain-2": true}, want: &v1alpha1.DrainStatus{StartedAt: at(10), Total: 1, Remaining: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			n := node("a", v1alpha1.ReasonNodeCordoned, c.streams...)
			n.node.Status.Drain, n.node.Status.StopsAt = c.before, c.stopsAt
			got := progressOf(&view{now: at(10).Time, failed: c.failed}, n, c.blocked)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("progress (-want +got):\n%s", diff)
			}
		})
	}
}
