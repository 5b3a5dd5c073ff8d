// Package placement chooses nodes for streams. It is pure: the same input gives the same choice.
package placement

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// Node is what a choice knows of a node.
type Node struct {
	Name string
	// Slots that the node has, and how many of them are taken: owned streams, and pending transfers to the node.
	Slots, Used int
	// Unfit says in a few words why the node takes no streams now; empty: it does.
	Unfit string
	// Doubt says in a few words why the node, which does take streams, is likely to be drained before long; empty: it is not.
	Doubt string
	// Labels of the StreamNode, for node selectors, and for the zone.
	Labels map[string]string
}

// LabelZone is the label that says in which zone a node is.
const LabelZone = "topology.kubernetes.io/zone"

// Demand is what a stream asks of its node.
type Demand struct {
	// Stream is an identity, for a stable choice among equals.
	Stream string
	// NodeName, where given, is the only node that will do.
	NodeName string
	// Selector has the labels that the node must have.
	Selector map[string]string
}

// DemandOf returns what a stream's spec asks of its node.
func DemandOf(stream *v1alpha1.Stream) Demand {
	return Demand{Stream: string(stream.UID), NodeName: stream.Spec.NodeName, Selector: Selector(stream.Spec.NodeSelector)}
}

// Selector returns a stream's spec.nodeSelector as Demand has it.
func Selector(selector map[string]v1alpha1.LabelValue) map[string]string {
	if len(selector) == 0 {
		return nil
	}
	labels := make(map[string]string, len(selector))
	for label, value := range selector {
		labels[label] = string(value)
	}
	return labels
}

// Choose returns the fit node with the smallest share of taken slots, or the reason why there is none: one sentence
// that counts the nodes by what is in the way. A node in doubt is chosen only where no other is fit. Among nodes with equal
// shares the one whose zone has the smallest share wins, so that streams spread over zones.
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
	zones := zonesOf(nodes)
	best := slices.MinFunc(fit, func(a, b Node) int {
		if c := cmp.Compare(min(len(a.Doubt), 1), min(len(b.Doubt), 1)); c != 0 {
			return c
		}
		if c := compareShares(a.Used, a.Slots, b.Used, b.Slots); c != 0 {
			return c
		}
		zoneA, zoneB := zones[a.Labels[LabelZone]], zones[b.Labels[LabelZone]]
		if c := compareShares(zoneA.used, zoneA.slots, zoneB.used, zoneB.slots); c != 0 {
			return c
		}
		return cmp.Compare(rank(demand.Stream, a.Name), rank(demand.Stream, b.Name))
	})
	return best.Name, fmt.Sprintf("node %s has %d of %d slots taken, the smallest share", best.Name, best.Used, best.Slots)
}

// compareShares compares usedA/slotsA with usedB/slotsB without rounding.
func compareShares(usedA, slotsA, usedB, slotsB int) int {
	return cmp.Compare(int64(usedA)*int64(slotsB), int64(usedB)*int64(slotsA))
}

type zone struct{ used, slots int }

// zonesOf sums up the nodes that take streams, by zone.
func zonesOf(nodes []Node) map[string]zone {
	zones := map[string]zone{}
	for _, node := range nodes {
		if node.Unfit == "" {
			sum := zones[node.Labels[LabelZone]]
			zones[node.Labels[LabelZone]] = zone{sum.used + node.Used, sum.slots + node.Slots}
		}
	}
	return zones
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

// anyFits tells whether Choose would find a node, for less.
func anyFits(nodes []Node, demand Demand) bool {
	return slices.ContainsFunc(nodes, func(node Node) bool { return obstacle(node, demand) == "" })
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
