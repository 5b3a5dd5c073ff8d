package engine

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
)

type object struct {
	key  string
	data []byte
	sum  digest
}

// digest identifies bytes. Those of a set are combined by exclusive or.
type digest [16]byte

func digestOf(b []byte) digest {
	sum := sha256.Sum256(b)
	return digest(sum[:])
}

func (d *digest) toggle(other digest) {
	for i := range d {
		d[i] ^= other[i]
	}
}

// ack is an acknowledged record. What was acknowledged when it was submitted must come before it.
type ack struct {
	record string
	before int // the first so many of the acknowledged
}

// actor is one session.
type actor struct {
	sum     digest // of everything below, where it is up to date
	epoch   Epoch
	phase   actorPhase
	opening opening
	state   state
	spans   []span
	ref     reference
	base    *checkpoint
	records int
	merges  int
	// writing is the proposal on its way, with what is acknowledged once it is written.
	writing  *proposal
	proposed ack
	kind     segmentKind
	merging  *merging
	sweeping *sweep
	due      *garbage
	// closedAt is the closing segment of a session that ended in order; resumed counts how often it went on after that.
	closedAt SegmentNumber
	resumed  int
}

type actorPhase byte

const (
	actorWaits actorPhase = iota // has not begun
	actorOpens
	actorOpen
	actorEnded
)

// node is a state of the walk.
type node struct {
	objects []object // sorted by key
	present digest   // of the objects
	actors  []actor
	acked   []ack
	late    []object // creates that may be applied at any time
	lost    int      // answers lost so far
	lates   int
	tail    SegmentNumber // of the last closing segment
	known   SegmentNumber // of the opening segment of the last session that was open
	refused string        // what an opening was refused with, although nothing is lost
}

type walk struct {
	bounds
	mutant mutant
	// readings memoizes what a fresh reader finds, by the objects.
	readings map[digest]string
}

func (n *node) get(key string) ([]byte, bool) {
	i, ok := slices.BinarySearchFunc(n.objects, key, func(o object, key string) int { return strings.Compare(o.key, key) })
	if !ok {
		return nil, false
	}
	return n.objects[i].data, true
}

func (n *node) create(key string, data []byte) bool {
	i, ok := slices.BinarySearchFunc(n.objects, key, func(o object, key string) int { return strings.Compare(o.key, key) })
	if ok {
		return false
	}
	sum := digestOf(append([]byte(key+":"), data...))
	n.present.toggle(sum)
	n.objects = slices.Insert(slices.Clone(n.objects), i, object{key: key, data: data, sum: sum})
	return true
}

func (n *node) remove(key string) {
	n.objects = slices.DeleteFunc(slices.Clone(n.objects), func(o object) bool {
		if o.key == key {
			n.present.toggle(o.sum)
		}
		return o.key == key
	})
}

// fork copies a state so far that changing one actor leaves the original as it is.
func (n *node) fork(i int) (*node, *actor) {
	c := *n
	c.actors = slices.Clone(n.actors)
	c.acked = slices.Clip(n.acked)
	a := &c.actors[i]
	a.sum = digest{}
	a.spans = slices.Clip(a.spans)
	a.opening.spans = slices.Clip(a.opening.spans)
	if a.writing != nil {
		p := *a.writing
		a.writing = &p
	}
	if a.merging != nil {
		m := *a.merging
		a.merging = &m
	}
	if a.sweeping != nil {
		s := *a.sweeping
		a.sweeping = &s
	}
	return &c, a
}

// step is one successor of a state.
type step struct {
	what string
	node *node
}

// answerTo carries a call out on a state.
func answerTo(n *node, c call) outcome {
	switch c.kind {
	case callGet, callPeek:
		if data, ok := n.get(c.key); ok {
			return outcome{answer: answerDone, data: data}
		}
		return outcome{answer: answerAbsent}
	case callCreate:
		if n.create(c.key, c.data) {
			return outcome{answer: answerDone}
		}
		return outcome{answer: answerTaken}
	case callDelete:
		n.remove(c.key)
		return outcome{answer: answerDone}
	case callRange:
	}
	panic("no machine makes this call")
}

// sum identifies a state.
func (n *node) sum() digest {
	w := writer{b: make([]byte, 0, 256)}
	w.b = append(w.b, n.present[:]...)
	for i := range n.actors {
		a := &n.actors[i]
		if a.sum == (digest{}) {
			var of writer
			a.encode(&of)
			a.sum = digestOf(of.b)
		}
		w.b = append(w.b, a.sum[:]...)
	}
	w.number(int64(len(n.acked)))
	for _, k := range n.acked {
		w.string(k.record)
		w.number(int64(k.before))
	}
	for _, o := range n.late {
		w.string(o.key)
		w.bytes(o.data)
	}
	w.string("")
	w.number(int64(n.lost))
	w.number(int64(n.lates))
	w.number(int64(n.tail))
	w.number(int64(n.known))
	w.string(n.refused)
	return digestOf(w.b)
}

func (a *actor) encode(w *writer) {
	w.byte(byte(a.phase))
	if a.closedAt != 0 {
		w.number(int64(a.closedAt))
		w.number(int64(a.resumed))
	}
	switch a.phase {
	case actorWaits, actorEnded:
	case actorOpens:
		o := &a.opening
		w.byte(byte(o.phase))
		w.b = append(w.b, o.state.self[:]...)
		for _, n := range []SegmentNumber{o.state.number, o.hint, o.known, o.lowest, o.missing, o.stride, o.mine, o.load.covers, o.anchor.number} {
			w.number(int64(n))
		}
		w.string(o.load.session)
		w.number(int64(o.restarts))
		w.string(fmt.Sprint(o.state.kind, o.certain))
		encodeReference(w, o.state.checkpoint)
		encodeSpans(w, o.spans)
	case actorOpen:
		w.b = append(w.b, a.state.self[:]...)
		w.number(int64(a.state.number))
		w.number(int64(a.records))
		w.number(int64(a.merges))
		w.byte(byte(a.kind))
		encodeReference(w, a.ref)
		encodeSpans(w, a.spans)
		a.encodeMachines(w)
	}
}

func (a *actor) encodeMachines(w *writer) {
	if p := a.writing; p != nil {
		w.string("writes " + a.proposed.record)
		w.number(int64(a.proposed.before))
		w.byte(byte(p.phase))
		data := digestOf(p.data)
		w.b = append(w.b, data[:]...)
	}
	if a.base != nil {
		w.string("has a checkpoint")
		w.number(int64(a.base.garbage.size()))
	}
	if m := a.merging; m != nil {
		w.string("merges")
		w.number(int64(len(m.creates)))
		w.number(int64(m.ref.covers))
	}
	if s := a.sweeping; s != nil {
		w.string("sweeps")
		w.number(int64(s.left.size()))
	}
	if a.due != nil {
		w.string("has garbage")
		w.number(int64(a.due.size()))
	}
}

func encodeSpans(w *writer, spans []span) {
	w.number(int64(len(spans)))
	for _, s := range spans {
		w.number(int64(s.number))
		w.number(int64(s.end))
	}
}
