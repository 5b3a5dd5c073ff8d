package nodename

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/transfers"
	"github.com/streamshift/streamshift/internal/condition"
)

// Limits bound the transfers of this package's making that are under way at the same time.
type Limits struct {
	// Total counts those of drains too, which so go first.
	Total     int
	PerTarget int
}

// view is everything that a pass decides from.
type view struct {
	// streams that are wanted on another node than their owner's.
	streams []*v1alpha1.Stream
	nodes   map[string]*v1alpha1.StreamNode
	// used are the slots that are taken, by node.
	used map[string]int
	// open are the transfers that have not ended.
	open []v1alpha1.StreamTransfer
	// moved are the streams of those of this package's making that are not wanted elsewhere any more, by namespace/name.
	moved map[string]*v1alpha1.Stream
}

// note is what is said of a stream.
type note struct {
	stream  *v1alpha1.Stream
	reason  string
	message string
}

// decision is what one pass does.
type decision struct {
	moves []transfers.Move
	// cancel are transfers that nobody wants any more and that have not started.
	cancel []v1alpha1.StreamTransfer
	notes  []note
}

// decide is pure.
func decide(v *view, limits Limits) decision {
	p := &pass{view: v, limits: limits, openOf: map[string]*v1alpha1.StreamTransfer{}, toTarget: map[string]int{}}
	known := maps.Clone(v.moved)
	for _, stream := range v.streams {
		known[keyOf(stream.Namespace, stream.Name)] = stream
	}
	for i := range v.open {
		transfer := &v.open[i]
		key := keyOf(transfer.Namespace, transfer.Spec.Stream)
		p.openOf[key] = transfer
		p.count(transfer)
		if isOurs(transfer) && unwanted(transfer, known[key]) {
			p.cancel = append(p.cancel, *transfer)
		}
	}
	sorted := slices.SortedFunc(slices.Values(v.streams), func(a, b *v1alpha1.Stream) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	for _, stream := range sorted {
		p.consider(stream)
	}
	return p.decision
}

func keyOf(namespace, stream string) string { return namespace + "/" + stream }

func isOurs(transfer *v1alpha1.StreamTransfer) bool {
	return transfer.Labels[v1alpha1.LabelCause] == v1alpha1.CausePlacement
}

// unwanted tells whether a transfer has not started, and its stream is wanted somewhere else by now.
func unwanted(transfer *v1alpha1.StreamTransfer, stream *v1alpha1.Stream) bool {
	if stream == nil || stream.Spec.NodeName == transfer.Spec.Target || transfer.Spec.Cancel {
		return false
	}
	pending, last := stream.Status.PendingTransfer, stream.Status.LastTransfer
	return (pending == nil || pending.UID != transfer.UID) && (last == nil || last.UID != transfer.UID)
}

type pass struct {
	*view
	decision

	limits   Limits
	openOf   map[string]*v1alpha1.StreamTransfer
	total    int
	toTarget map[string]int
}

func (p *pass) count(transfer *v1alpha1.StreamTransfer) {
	switch transfer.Labels[v1alpha1.LabelCause] {
	case v1alpha1.CauseDrain, v1alpha1.CauseTakeover, v1alpha1.CausePlacement:
		p.total++
		p.toTarget[transfer.Spec.Target]++
	}
}

func (p *pass) consider(stream *v1alpha1.Stream) {
	target := stream.Spec.NodeName
	say := func(reason, format string, args ...any) {
		message := fmt.Sprintf("The stream is to go to node %s, which spec.nodeName names: ", target) + fmt.Sprintf(format, args...)
		p.notes = append(p.notes, note{stream, reason, message})
	}
	if open := p.openOf[keyOf(stream.Namespace, stream.Name)]; open != nil {
		say(v1alpha1.ReasonGoingToNode, "transfer %s to node %s is under way.", open.Name, open.Spec.Target)
		return
	}
	if obstacle := p.obstacle(stream); obstacle != "" {
		say(v1alpha1.ReasonNodeNameWaits, "it waits, since %s.", obstacle)
		return
	}
	if p.total >= p.limits.Total || p.toTarget[target] >= p.limits.PerTarget {
		say(v1alpha1.ReasonGoingToNode, "it waits for its turn.")
		return
	}
	p.total++
	p.toTarget[target]++
	p.used[target]++
	p.moves = append(p.moves, transfers.Move{Stream: *stream, Target: target, Cause: v1alpha1.CausePlacement})
	say(v1alpha1.ReasonGoingToNode, "a transfer is made.")
}

// obstacle returns why the stream cannot go where it is wanted now; empty: it can.
func (p *pass) obstacle(stream *v1alpha1.Stream) string {
	name := stream.Spec.NodeName
	target, owner := p.nodes[name], p.nodes[stream.Status.Node]
	if target == nil {
		return fmt.Sprintf("node %s is not registered", name)
	}
	if unfit := condition.NodeUnfit(target); unfit != "" {
		return fmt.Sprintf("node %s %s", name, unfit)
	}
	for label, value := range stream.Spec.NodeSelector {
		if target.Labels[label] != string(value) {
			return fmt.Sprintf("node %s does not match spec.nodeSelector", name)
		}
	}
	if p.used[name] >= int(target.Spec.Slots) {
		return fmt.Sprintf("node %s has no free slot: %d of %d are taken", name, p.used[name], target.Spec.Slots)
	}
	if owner == nil || condition.NodeGone(owner) {
		return fmt.Sprintf("node %s, its owner, is gone and cannot close it", stream.Status.Node)
	}
	return ""
}
