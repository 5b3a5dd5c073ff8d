package kubectlstream

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

// blockedNode has streams left, so many of which cannot leave.
func blockedNode(remaining, blocked int32) v1alpha1.StreamNode {
	node := drainingNode("node-a", condition.True(v1alpha1.ConditionDrainBlocked, "StayPolicy", ""))
	node.Status.Drain.Remaining, node.Status.Drain.Blocked = remaining, blocked
	return node
}

func TestDrainStateOf(t *testing.T) {
	uncounted := drainingNode("a", condition.True(v1alpha1.ConditionDrainBlocked, "StayPolicy", ""))
	uncounted.Status.Drain = nil
	before := drainingNode("a", condition.True(v1alpha1.ConditionDrained, "Empty", ""), condition.False(v1alpha1.ConditionDraining, "NotDraining", ""))
	for name, c := range map[string]struct {
		node v1alpha1.StreamNode
		want drainState
	}{
		"nothing is seen of it yet":                {readyNode("a"), drainUnseen},
		"drained once, and not draining now":       {before, drainUnseen},
		"streams leave":                            {drainingNode("a"), drainRunning},
		"some streams cannot leave, others do":     {blockedNode(3, 2), drainRunning},
		"none of those that are left can leave":    {blockedNode(2, 2), drainBlocked},
		"called blocked, and nothing is counted":   {uncounted, drainRunning},
		"drained":                                  {drainingNode("a", condition.True(v1alpha1.ConditionDrained, "Empty", "")), drainDone},
		"no stream is left, sessions are not gone": {blockedNode(0, 0), drainRunning},
	} {
		t.Run(name, func(t *testing.T) {
			if got := drainStateOf(&c.node); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

func TestADrainIsGivenUpOnlyOnceItHasBeenBlockedForLong(t *testing.T) {
	const patience = 10 * time.Second
	type look struct {
		after time.Duration
		state drainState
		want  bool
	}
	for name, c := range map[string]struct {
		patience time.Duration
		looks    []look
	}{
		"blocked for as long as allowed": {patience, []look{{0, drainBlocked, false}, {patience - 1, drainBlocked, false}, {patience, drainBlocked, true}}},
		"a stream left meanwhile":        {patience, []look{{0, drainBlocked, false}, {patience - 1, drainRunning, false}, {patience, drainBlocked, false}}},
		"never":                          {0, []look{{0, drainBlocked, false}, {24 * time.Hour, drainBlocked, false}}},
		"not seen for long":              {patience, []look{{0, drainUnseen, false}, {time.Hour, drainUnseen, false}}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := drainClock{patience: c.patience}
			for i, l := range c.looks {
				if got := clock.over(l.state, noon.Add(l.after)); got != l.want {
					t.Errorf("look %d: %t", i, got)
				}
			}
		})
	}
}

func TestBlockersAreNamedWithTheirReasons(t *testing.T) {
	drain := &v1alpha1.DrainStatus{Blocked: 3, Blockers: []v1alpha1.DrainBlocker{
		{Stream: "default/stays", Reason: "StayPolicy", Message: "its drainPolicy is Stay."}, {Stream: "shop/orders", Reason: "NoEligibleTarget"},
	}}
	want := []string{"  default/stays stays: StayPolicy: its drainPolicy is Stay", "  shop/orders stays: NoEligibleTarget", "  and 1 more"}
	if diff := cmp.Diff(want, blockerLines(drain)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if lines := blockerLines(nil); lines != nil {
		t.Errorf("without a drain: %q", lines)
	}
}
