// Package placement chooses nodes for streams. It is pure: the same input gives the same choice.
package placement

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// Node is what a choice knows of a node.
type Node struct {
	Name string
	// Slots that the node has, and how many of them are taken: owned streams, and pending transfers to the node.
	Slots, Used int
	// Unfit says in a few words why the node takes no streams now; empty: it does.
	Unfit string
	// Labels of the StreamNode, for node selectors.
	Labels map[string]string
}

// Demand is what a stream asks of its node.
type Demand struct {
	// Stream is an identity, for a stable choice among equals.
	Stream string
	// NodeName, where given, is the only node that will do.
	NodeName string
	// Selector has the labels that the node must have.
	Selector map[string]string
}

// Choose returns the fit node with the smallest share of taken slots, or the reason why there is none: one sentence
// that counts the nodes by what is in the way.
func Choose(nodes []Node, demand Demand) (name, reason string) {
	var fit []Node
	obstacles := map[string]int{}
	for _, node := range nodes {
		if obstacle := obstacle(node, demand); obstacle != "" {
			obstacles[obstacle]++
			continue
		}
		fit = append(fit, node)
	}
	if len(fit) == 0 {
		return "", noneFits(len(nodes), obstacles)
	}
	best := slices.MinFunc(fit, func(a, b Node) int {
		// Compares a.Used/a.Slots with b.Used/b.Slots without rounding.
		if c := cmp.Compare(int64(a.Used)*int64(b.Slots), int64(b.Used)*int64(a.Slots)); c != 0 {
			return c
		}
		return cmp.Compare(rank(demand.Stream, a.Name), rank(demand.Stream, b.Name))
	})
	return best.Name, fmt.Sprintf("node %s has %d of %d slots taken, the smallest share", best.Name, best.Used, best.Slots)
}

func obstacle(node Node, demand Demand) string {
	if demand.NodeName != "" && node.Name != demand.NodeName {
		return "is not spec.nodeName " + demand.NodeName
	}
	for key, value := range demand.Selector {
		if node.Labels[key] != value {
			return "does not match spec.nodeSelector"
		}
	}
	if node.Unfit != "" {
		return node.Unfit
	}
	if node.Used >= node.Slots {
		return "has no free slot"
	}
	return ""
}

func noneFits(total int, obstacles map[string]int) string {
	if total == 0 {
		return "no node is registered"
	}
	counted := make([]string, 0, len(obstacles))
	for obstacle, count := range obstacles {
		counted = append(counted, fmt.Sprintf("%d %s", count, obstacle))
	}
	slices.Sort(counted)
	return fmt.Sprintf("of %d nodes none fits: %s", total, strings.Join(counted, ", "))
}

// rank spreads equal choices over the nodes, the same for the same stream and node (rendezvous hashing).
func rank(stream, node string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(stream + "\x00" + node))
	return hash.Sum64()
}
