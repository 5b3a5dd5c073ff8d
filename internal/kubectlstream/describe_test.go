package kubectlstream

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

func TestDescribe(t *testing.T) {
	open := []row{{"Stream", "default/orders"}, {"Owner", "node-a"}, {"Epoch", "7"}, {"State", "Open for 60s (since 2026-03-01T11:59:00Z)"}}
	waitingTransfer := v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{Name: "move"}, Spec: v1alpha1.StreamTransferSpec{Target: "node-b"},
		Status: v1alpha1.StreamTransferStatus{WaitingFor: "node node-a closes the stream"},
	}
	for name, c := range map[string]struct {
		change func(*sight)
		want   []row
	}{
		"open, and nothing is wanted of it": {func(*sight) {}, append(open[:4:4], row{"Waits for", "nothing"})},
		"handed over once": {
			func(s *sight) {
				s.stream.Status.LastTransfer = &v1alpha1.LastTransfer{
					Name: "first", Source: "node-c", Target: "node-a", ClosedEpoch: 6,
					StoppedAt: new(microBefore(time.Minute + 12*time.Millisecond)), CommittedAt: microBefore(time.Minute),
				}
			},
			append(open[:4:4], row{"Last transfer", "node-c to node-a, by first, 60s ago; appends waited 12ms"}, row{"Waits for", "nothing"}),
		},
		"taken over, and opened again since": {
			func(s *sight) {
				s.stream.Status.LastTransfer = &v1alpha1.LastTransfer{
					Name: "first", Source: "node-c", Target: "node-a", ClosedEpoch: 5, Forced: true,
					StoppedAt: new(microBefore(time.Hour)), CommittedAt: microBefore(time.Hour),
				}
			},
			append(open[:4:4], row{"Last transfer", "node-c to node-a, by first, 60m ago, taken over"}, row{"Waits for", "nothing"}),
		},
		"in transfer": {
			func(s *sight) {
				s.stream.Status.PendingTransfer = &v1alpha1.PendingTransfer{Name: "move", Target: "node-b", AcceptedAt: microBefore(4 * time.Second)}
				s.open = []v1alpha1.StreamTransfer{waitingTransfer}
			},
			append(open[:4:4], row{"In transfer", "to node-b, by move, accepted 4s ago"}, row{"Waits for", "transfer move to node-b: node node-a closes the stream"}),
		},
		"two transfers wait": {
			func(s *sight) {
				second := waitingTransfer.DeepCopy()
				second.Name, second.Status.WaitingFor = "second", ""
				s.open = []v1alpha1.StreamTransfer{waitingTransfer, *second}
			},
			append(open[:4:4], row{"Waits for", "transfer move to node-b: node node-a closes the stream"},
				row{"and for", "transfer second to node-b: the manager to look at it"}),
		},
		"not placed": {
			func(s *sight) {
				s.owner, s.stream.Status = nil, v1alpha1.StreamStatus{
					Conditions: conditions(condition.False(v1alpha1.ConditionReady, v1alpha1.ReasonNoEligibleNode, "No node fits: 3 are full.")),
				}
			},
			[]row{{"Stream", "default/orders"}, {"Owner", "<none>, it is not placed yet"}, {"Waits for", "No node fits: 3 are full (NoEligibleNode)"}},
		},
		"nobody has looked at it": {
			func(s *sight) { s.owner, s.stream.Status = nil, v1alpha1.StreamStatus{} },
			[]row{{"Stream", "default/orders"}, {"Owner", "<none>, it is not placed yet"}, {"Waits for", "the manager, which has not looked at it yet"}},
		},
		"the owner is gone": {
			func(s *sight) {
				s.owner.Status.Conditions = conditions(condition.Unknown(v1alpha1.ConditionReady, v1alpha1.ReasonLeaseExpired, "Its lease ran out."))
			},
			append([]row{open[0], {"Owner", "node-a, which is gone: Its lease ran out."}}, append(open[2:4:4], row{"Waits for", "nothing"})...),
		},
		"the owner is not registered any more": {
			func(s *sight) { s.owner = nil },
			append([]row{open[0], {"Owner", "node-a, which is not registered any more"}}, append(open[2:4:4], row{"Waits for", "nothing"})...),
		},
		"the owner is drained": {
			func(s *sight) { *s.owner = drainingNode("node-a") },
			append([]row{open[0], {"Owner", "node-a, which is drained"}}, append(open[2:4:4], row{"Waits for", "nothing"})...),
		},
		"being deleted, under a name that is no object's": {
			func(s *sight) {
				s.stream.Name = "x--adk6us1f9tp68pbiec"
				s.stream.DeletionTimestamp = new(before(time.Second))
			},
			append([]row{{"Stream", "default/Shop/Orders"}, {"Object", "x--adk6us1f9tp68pbiec"}},
				append(open[1:4:4], row{"Waits for", "its log to be removed from the object store: the stream is being deleted"})...),
		},
	} {
		t.Run(name, func(t *testing.T) {
			seen := sight{stream: new(openStream("orders")), owner: new(readyNode("node-a")), now: noon}
			c.change(&seen)
			if diff := cmp.Diff(c.want, describe(seen), cmp.AllowUnexported(row{})); diff != "" {
				t.Errorf("rows (-want +got):\n%s", diff)
			}
		})
	}
}
