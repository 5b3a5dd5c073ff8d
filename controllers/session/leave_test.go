package session

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

func TestAnAgentWaitsForAsLongAsSomethingHappensToItsStreams(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	const never = time.Hour
	// look is how things are from a moment after the beginning on.
	type look struct {
		after time.Duration
		outlook
	}
	one, none := outlook{owned: 1}, outlook{}
	tests := map[string]struct {
		looks []look
		// blockedAfter is when the manager says that streams cannot leave.
		blockedAfter time.Duration
		want         time.Duration
	}{
		"nothing is there": {looks: []look{{0, none}}, blockedAfter: never, want: 0},
		"they leave":       {looks: []look{{0, one}, {time.Second, outlook{owned: 1, leaving: 1}}, {2 * time.Second, none}}, blockedAfter: never, want: 2 * time.Second},
		"one leaves late":  {looks: []look{{0, one}, {9 * time.Second, outlook{owned: 1, leaving: 1}}, {18 * time.Second, none}}, blockedAfter: never, want: 18 * time.Second},
		"one comes as another leaves, and leaves again": {
			looks:        []look{{0, one}, {9 * time.Second, outlook{owned: 2}}, {18 * time.Second, one}, {27 * time.Second, none}},
			blockedAfter: never, want: 27 * time.Second,
		},
		"one is on its way when none is left": {
			looks:        []look{{0, outlook{owned: 1, coming: 1}}, {time.Second, outlook{coming: 1}}, {8 * time.Second, one}, {9 * time.Second, none}},
			blockedAfter: never, want: 9 * time.Second,
		},
		"nobody transfers them":              {looks: []look{{0, one}}, blockedAfter: never, want: leavePatience},
		"they cannot leave":                  {looks: []look{{0, one}}, want: blockedPatience},
		"they cannot leave, it is said late": {looks: []look{{0, one}}, blockedAfter: 4500 * time.Millisecond, want: 5 * time.Second},
		"one cannot leave, and another does": {looks: []look{{0, outlook{owned: 2, leaving: 1}}, {8 * time.Second, one}}, want: 8*time.Second + blockedPatience},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			now, asked := began, 0
			w := &waiting{seen: tt.looks[0].outlook, since: began, blocked: func() bool {
				asked++
				return now.Sub(began) >= tt.blockedAfter
			}}
			at := func() (o outlook) {
				for _, l := range tt.looks {
					if now.Sub(began) >= l.after {
						o = l.outlook
					}
				}
				return o
			}
			for w.goOn(at(), now) {
				now = now.Add(leaveLook)
			}
			if got := now.Sub(began); got != tt.want {
				t.Errorf("the agent waits for %s, want %s", got, tt.want)
			}
			if limit := int(now.Sub(began)/blockedLook) + 1; asked > limit {
				t.Errorf("the manager is asked %d times in %s", asked, now.Sub(began))
			}
		})
	}
}

func TestWhatMustLeaveBeforeAnAgentEnds(t *testing.T) {
	h := newHarness(t)
	for _, step := range []struct {
		what   string
		change func(*v1alpha1.StreamStatus)
		want   outlook
	}{
		{"the node owns a stream", func(*v1alpha1.StreamStatus) {}, outlook{owned: 1}},
		{"its transfer is pending", func(s *v1alpha1.StreamStatus) {
			s.PendingTransfer = &v1alpha1.PendingTransfer{Name: "t", UID: "t-1", Source: "a", Target: "b", AcceptedAt: metav1.NewMicroTime(h.clock())}
		}, outlook{owned: 1, leaving: 1}},
		{"it has left", func(s *v1alpha1.StreamStatus) { s.PendingTransfer, s.Node, s.Epoch = nil, "b", s.Epoch+1 }, outlook{}},
		{"it comes back", func(s *v1alpha1.StreamStatus) {
			s.PendingTransfer = &v1alpha1.PendingTransfer{Name: "u", UID: "u-1", Source: "b", Target: "a", AcceptedAt: metav1.NewMicroTime(h.clock())}
		}, outlook{coming: 1}},
		{"it is here again", func(s *v1alpha1.StreamStatus) { s.PendingTransfer, s.Node, s.Epoch = nil, "a", s.Epoch+1 }, outlook{owned: 1}},
	} {
		h.change(step.change)
		h.see()
		if got := h.node.outlook(); got != step.want {
			t.Errorf("%s: %+v, want %+v", step.what, got, step.want)
		}
	}
}

func TestWhetherTheManagerSaysThatStreamsCannotLeave(t *testing.T) {
	h := newHarness(t)
	if h.node.saidBlocked(t.Context()) {
		t.Error("of a node that is not registered it says so")
	}
	node := &v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	if err := h.server.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	for _, status := range []metav1.ConditionStatus{metav1.ConditionFalse, metav1.ConditionTrue} {
		node.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionDrainBlocked, Status: status}}
		if err := h.server.Update(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		if got, want := h.node.saidBlocked(t.Context()), status == metav1.ConditionTrue; got != want {
			t.Errorf("DrainBlocked is %s, and the agent takes it for %t", status, got)
		}
	}
	h.setAway(true)
	if h.node.saidBlocked(t.Context()) {
		t.Error("where nobody answers it says so")
	}
}
