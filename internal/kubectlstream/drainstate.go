package kubectlstream

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

// drainState is how the drain of a node stands.
type drainState int

const (
	// drainUnseen: the manager has not begun with it yet.
	drainUnseen drainState = iota
	// drainRunning: streams leave.
	drainRunning
	// drainBlocked: none of the streams that are left can leave now.
	drainBlocked
	// drainDone: the node holds no stream, as it says itself.
	drainDone
)

// drainStateOf judges a node by its conditions and counters.
func drainStateOf(node *v1alpha1.StreamNode) drainState {
	conditions, drain := node.Status.Conditions, node.Status.Drain
	switch {
	case !condition.IsTrue(conditions, v1alpha1.ConditionDraining):
		return drainUnseen
	case condition.IsTrue(conditions, v1alpha1.ConditionDrained):
		return drainDone
	case condition.IsTrue(conditions, v1alpha1.ConditionDrainBlocked) && drain != nil && drain.Blocked > 0 && drain.Blocked >= drain.Remaining:
		return drainBlocked
	}
	return drainRunning
}

// unseenText says why a drain has not begun.
func unseenText(node *v1alpha1.StreamNode) string {
	if ready, found := condition.Get(node.Status.Conditions, v1alpha1.ConditionReady); found && ready.Status != metav1.ConditionTrue {
		return fmt.Sprintf("%s is not ready (%s), so its streams cannot be closed there: %s They are taken over, or wait until it is back",
			node.Name, ready.Reason, ready.Message)
	}
	return fmt.Sprintf("the manager has not begun to drain %s: does it run?", node.Name)
}

// blockerLines names the streams that cannot leave, and why.
func blockerLines(drain *v1alpha1.DrainStatus) []string {
	if drain == nil {
		return nil
	}
	var lines []string
	for _, blocker := range drain.Blockers {
		line := fmt.Sprintf("  %s stays: %s", blocker.Stream, blocker.Reason)
		if blocker.Message != "" {
			line += ": " + strings.TrimSuffix(blocker.Message, ".")
		}
		lines = append(lines, line)
	}
	if more := int(drain.Blocked) - len(drain.Blockers); more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return lines
}

// drainClock decides when a drain that is watched is to be given up as blocked.
type drainClock struct {
	// patience is how long a drain may be blocked; 0: as long as it wants.
	patience time.Duration
	// blockedSince is when it was first seen to be blocked, and so ever since; zero: it is not.
	blockedSince time.Time
}

// over tells whether the drain, in this state at this moment, has been blocked for too long.
func (c *drainClock) over(state drainState, now time.Time) bool {
	switch state {
	case drainBlocked:
		if c.blockedSince.IsZero() {
			c.blockedSince = now
		}
		return c.patience > 0 && now.Sub(c.blockedSince) >= c.patience
	case drainUnseen, drainRunning, drainDone:
		c.blockedSince = time.Time{}
	}
	return false
}
