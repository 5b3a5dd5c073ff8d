package rebalance

import (
	"fmt"
	"slices"
	"time"
)

// Health is what a node's role follows from.
type Health struct {
	Node string
	// Unfit says in a few words why the node takes no streams at all; empty: it does.
	Unfit string
	// Selected tells whether the rebalance may use the node.
	Selected bool
	// Running is for how long the node's agent has run.
	Running time.Duration
	// AppendTime is how long an append takes there on average; 0 where there was none lately.
	AppendTime time.Duration
}

// HealthLimits say when a node is well.
type HealthLimits struct {
	// MinRunning is for how long a node must have run before it gets streams: one that just came back is filled slowly.
	MinRunning time.Duration
	// SlowFactor is how many times the median append time makes a node slow, and SlowFloor what is never slow.
	SlowFactor float64
	SlowFloor  time.Duration
}

// DefaultSlowFactor and DefaultSlowFloor are far from what differs by chance.
const (
	DefaultSlowFactor = 3.0
	DefaultSlowFloor  = 50 * time.Millisecond
)

// Judgement is a role, and why it is not GivesAndTakes: a few words for people.
type Judgement struct {
	Role Role
	Why  string
}

// Judge returns the nodes' roles, in the order given. A node with little load because it is slow is not taken for idle.
func Judge(nodes []Health, limits HealthLimits) []Judgement {
	median := medianAppendTime(nodes)
	judged := make([]Judgement, 0, len(nodes))
	for _, node := range nodes {
		judged = append(judged, judge(node, median, limits))
	}
	return judged
}

func judge(node Health, median time.Duration, limits HealthLimits) Judgement {
	slow := max(time.Duration(float64(median)*limits.SlowFactor), limits.SlowFloor)
	switch {
	case !node.Selected:
		return Judgement{Outside, "is not selected"}
	case node.Unfit != "":
		return Judgement{Outside, node.Unfit}
	case node.AppendTime > slow:
		return Judgement{Gives, fmt.Sprintf("is slow: an append takes %v, and %v on the median node",
			node.AppendTime.Round(time.Millisecond), median.Round(time.Millisecond))}
	case node.Running < limits.MinRunning:
		return Judgement{Gives, fmt.Sprintf("has run for less than %v", limits.MinRunning)}
	}
	return Judgement{Role: GivesAndTakes}
}

// medianAppendTime is the lower median of the nodes that have any appends.
func medianAppendTime(nodes []Health) time.Duration {
	var times []time.Duration
	for _, node := range nodes {
		if node.Selected && node.AppendTime > 0 {
			times = append(times, node.AppendTime)
		}
	}
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[(len(times)-1)/2]
}
