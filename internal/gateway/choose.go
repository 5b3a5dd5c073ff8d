package gateway

import (
	"hash/fnv"

	"github.com/streamshift/streamshift/internal/routing"
)

// target is a node to ask.
type target struct {
	node, address string
	// hint is what the table says the node is to the stream; the zero value where the table does not know the stream.
	hint routing.Hint
}

// sight is what the table says about a stream now.
type sight struct {
	// target is the node to ask; its address is empty where there is none to ask now.
	target target
	// routeChanged and nodesChanged are closed when the answer may be another one.
	routeChanged, nodesChanged <-chan struct{}
	// transfer is the UID of the transfer that is under way; empty: none is known.
	transfer string
	// reason says why there is no node to ask.
	reason string
}

// look asks the table whom to ask. A stream that the table does not know is any ready node's to find: always the same
// one for one stream, but for those in avoid, which could not be reached.
func look(table *routing.Table, stream routing.Stream, avoid map[string]bool) sight {
	route, known, routeChanged := table.Route(stream)
	if !known {
		nodes, nodesChanged := table.Nodes()
		s := sight{routeChanged: routeChanged, nodesChanged: nodesChanged, reason: "no node is ready"}
		if node := choose(nodes, stream, avoid); node != "" {
			s.target = target{node: node, address: nodes[node].Address}
		}
		return s
	}
	node, role := route.Node()
	if node == "" {
		_, nodesChanged := table.Address("")
		return sight{routeChanged: routeChanged, nodesChanged: nodesChanged, transfer: route.Transfer, reason: "the stream is not placed on a node yet"}
	}
	address, nodesChanged := table.Address(node)
	return sight{
		target:       target{node: node, address: address, hint: routing.Hint{Epoch: route.Epoch, Role: role}},
		routeChanged: routeChanged,
		nodesChanged: nodesChanged,
		transfer:     route.Transfer,
		reason:       "the address of node " + node + " is not known",
	}
}

// choose returns the ready node with the highest weight for a stream (rendezvous hashing): stable while nodes come and
// go. Where all of them are to be avoided, avoid does not count.
func choose(nodes map[string]routing.NodeState, stream routing.Stream, avoid map[string]bool) string {
	best, bestAvoided := "", ""
	var weight, weightAvoided uint64
	for node, state := range nodes {
		if !state.Ready || state.Address == "" {
			continue
		}
		switch w := weigh(node, stream); {
		case avoid[node]:
			if bestAvoided == "" || w > weightAvoided {
				bestAvoided, weightAvoided = node, w
			}
		case best == "" || w > weight:
			best, weight = node, w
		}
	}
	if best == "" {
		return bestAvoided
	}
	return best
}

func weigh(node string, stream routing.Stream) uint64 {
	h := fnv.New64a()
	for _, part := range []string{node, stream.Namespace, stream.Name} {
		_, _ = h.Write([]byte(part)) // a hash does not fail
		_, _ = h.Write([]byte{0})
	}
	// FNV spreads the last bytes badly into the high bits: mix once more, so that the names of nodes decide.
	w := h.Sum64()
	w ^= w >> 33
	w *= 0xff51afd7ed558ccd
	w ^= w >> 33
	return w
}
