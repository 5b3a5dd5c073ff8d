package statusz

import (
	"cmp"
	"html/template"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/handoff"
)

// How many rows of each table are shown at most; beneath it is said how many more there are.
const (
	maxStreams    = 50
	maxNodes      = 100
	maxTransfers  = 50
	maxEnded      = 15
	maxRebalances = 20
)

// view is what the page shows.
type view struct {
	Identity string
	Leads    bool
	Style    template.CSS
	Refresh  int
	At       string

	Totals     totals
	Waiting    rows[streamRow]
	Nodes      rows[nodeRow]
	Transfers  rows[transferRow]
	Ended      rows[endedRow]
	Rebalances rows[rebalanceRow]
}

// totals are the figures at the head of the page.
type totals struct {
	Streams, Served, Waiting  int
	Nodes, ReadyNodes, Drains int
	Slots, Used               int
	InFlight, Failed          int
}

// rows are those of a table that are shown, and how many more there are.
type rows[T any] struct {
	Shown []T
	More  int
}

// first returns the first rows of a list in order, as they are shown.
func first[In, Out any](list []In, limit int, order func(a, b In) int, show func(In) Out) rows[Out] {
	slices.SortStableFunc(list, order)
	shown := rows[Out]{More: max(0, len(list)-limit)}
	for _, item := range list[:min(limit, len(list))] {
		shown.Shown = append(shown.Shown, show(item))
	}
	return shown
}

// summarize is pure.
func summarize(w *world, now time.Time) *view {
	v := &view{At: now.UTC().Format("2006-01-02 15:04:05 UTC")}
	v.sumStreams(w, now)
	v.sumNodes(w, now)
	v.sumTransfers(w, now)
	v.sumRebalances(w, now)
	return v
}

func (v *view) sumStreams(w *world, now time.Time) {
	var waiting []*v1alpha1.Stream
	for i := range w.streams.Items {
		stream := &w.streams.Items[i]
		v.Totals.Streams++
		if condition.IsTrue(stream.Status.Conditions, v1alpha1.ConditionReady) {
			v.Totals.Served++
		} else {
			waiting = append(waiting, stream)
		}
	}
	v.Totals.Waiting = len(waiting)
	v.Waiting = first(waiting, maxStreams, func(a, b *v1alpha1.Stream) int {
		return since(a).Compare(since(b)) // whoever waits longest comes first
	}, func(stream *v1alpha1.Stream) streamRow { return showStream(stream, now) })
}

func (v *view) sumNodes(w *world, now time.Time) {
	owned, inbound := map[string]int{}, map[string]int{}
	for i := range w.streams.Items {
		status := &w.streams.Items[i].Status
		if status.Node != "" {
			owned[status.Node]++
		}
		if status.PendingTransfer != nil {
			inbound[status.PendingTransfer.Target]++
		}
	}
	var nodes []*v1alpha1.StreamNode
	for i := range w.nodes.Items {
		node := &w.nodes.Items[i]
		nodes = append(nodes, node)
		v.Totals.Nodes++
		v.Totals.Used += owned[node.Name]
		if condition.IsTrue(node.Status.Conditions, v1alpha1.ConditionReady) {
			v.Totals.ReadyNodes++
			v.Totals.Slots += int(node.Spec.Slots)
		}
		if node.Status.Drain != nil {
			v.Totals.Drains++
		}
	}
	v.Nodes = first(nodes, maxNodes, func(a, b *v1alpha1.StreamNode) int {
		return cmp.Or(cmp.Compare(urgency(a), urgency(b)), cmp.Compare(a.Name, b.Name))
	}, func(node *v1alpha1.StreamNode) nodeRow {
		return showNode(node, owned[node.Name], inbound[node.Name], now)
	})
}

// urgency orders nodes: those that are not ready, then those that drain, then all others.
func urgency(node *v1alpha1.StreamNode) int {
	switch {
	case !condition.IsTrue(node.Status.Conditions, v1alpha1.ConditionReady):
		return 0
	case node.Status.Drain != nil:
		return 1
	}
	return 2
}

func (v *view) sumTransfers(w *world, now time.Time) {
	registers := map[types.UID]*v1alpha1.StreamStatus{}
	for i := range w.streams.Items {
		status := &w.streams.Items[i].Status
		if pending := status.PendingTransfer; pending != nil {
			registers[pending.UID] = status
		}
		if last := status.LastTransfer; last != nil {
			registers[last.UID] = status
		}
	}
	var flying, ended []*v1alpha1.StreamTransfer
	for i := range w.transfers.Items {
		transfer := &w.transfers.Items[i]
		if !handoff.Terminal(transfer) {
			flying = append(flying, transfer)
			continue
		}
		ended = append(ended, transfer)
		if transfer.Status.Phase == v1alpha1.TransferFailed {
			v.Totals.Failed++
		}
	}
	v.Totals.InFlight = len(flying)
	v.Transfers = first(flying, maxTransfers, func(a, b *v1alpha1.StreamTransfer) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	}, func(transfer *v1alpha1.StreamTransfer) transferRow {
		return showTransfer(transfer, registers[transfer.UID], now)
	})
	v.Ended = first(ended, maxEnded, func(a, b *v1alpha1.StreamTransfer) int {
		return cmp.Or(handoff.EndedAt(b).Compare(handoff.EndedAt(a)), cmp.Compare(a.Name, b.Name))
	}, func(transfer *v1alpha1.StreamTransfer) endedRow { return showEnded(transfer, now) })
}

func (v *view) sumRebalances(w *world, now time.Time) {
	var all []*v1alpha1.StreamRebalance
	for i := range w.rebalances.Items {
		all = append(all, &w.rebalances.Items[i])
	}
	v.Rebalances = first(all, maxRebalances, func(a, b *v1alpha1.StreamRebalance) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	}, func(rebalance *v1alpha1.StreamRebalance) rebalanceRow { return showRebalance(rebalance, now) })
}
