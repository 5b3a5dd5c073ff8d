package engine

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// This file walks every interleaving of a few sessions over one store, breadth first. Each store call is one step; a
// session may stop for ever before any of them; the answer to a create may be lost, and a create may be applied late.
// At every state a fresh reader must find every acknowledged record, once and in order. The sessions are the real
// machines: opening, proposal, merging, sweep. Mutants break one rule each, and each must be found.

// mutant names the rule that a walk breaks.
type mutant string

const (
	asDesigned mutant = "as designed"
	// Nobody looks for an anchor behind its opening.
	withoutConfirming mutant = "openings are not confirmed"
	// Opening segments are garbage like every other.
	openingsDeleted mutant = "opening segments are deleted"
	// Garbage is deleted as soon as the checkpoint is written.
	sweptBeforeAnchor mutant = "garbage is deleted before an anchor names the checkpoint"
	// Anchors are garbage like every other segment.
	anchorsDeleted mutant = "anchors are deleted"
	// A segment is taken in whatever it follows.
	withoutLinks mutant = "links are not looked at"
	// A number that is taken is taken for one's own.
	takenIsMine mutant = "a taken number is taken for one's own"
	// A create whose answer is lost is taken for done.
	unknownIsDone mutant = "an unknown outcome is taken for success"
	// A create whose answer is lost is tried again at the next number.
	unknownIsNext mutant = "after an unknown outcome the next number is tried"
	// The closing segment named by the hint is taken for the end of the log, over what follows.
	epochsIgnored mutant = "openings take in segments of higher epochs"
)

// bounds keep a walk finite.
type bounds struct {
	epochs  int // sessions, one an epoch
	numbers SegmentNumber
	records int // of each session
	merges  int // of each session
	lost    int // answers to creates that are lost, in all
	late    int // creates that are applied late, in all
	anchors SegmentNumber
	hints   bool // sessions close, and the next ones are told where
}

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

// steps returns everything that can happen next.
func (w *walk) steps(n *node) []step {
	var all []step
	for i := range n.actors {
		all = append(all, w.actorSteps(n, i)...)
	}
	for i, o := range n.late {
		c := *n
		c.late = slices.Delete(slices.Clone(n.late), i, i+1)
		took := "too late"
		if c.create(o.key, o.data) {
			took = "in time"
		}
		all = append(all, step{fmt.Sprintf("a late create of %s arrives, %s", o.key, took), &c})
	}
	return all
}

func (w *walk) actorSteps(n *node, i int) []step {
	switch a := &n.actors[i]; a.phase {
	case actorWaits:
		return []step{w.begin(n, i)}
	case actorOpens:
		return w.callSteps(n, i, func(a *actor) machine { return &a.opening }, (*walk).opened)
	case actorOpen:
		return w.sessionSteps(n, i)
	case actorEnded:
	}
	return nil
}

func (w *walk) begin(n *node, i int) step {
	c, a := n.fork(i)
	a.phase = actorOpens
	hint := SegmentNumber(0)
	if w.hints {
		hint = n.tail
	}
	a.opening = *newOpening(opener{
		stream: "s", session: fmt.Sprintf("session%d", a.epoch), epoch: a.epoch, born: true, producers: 10, anchors: w.anchors,
	}, hint)
	return step{fmt.Sprintf("%d begins to open", a.epoch), c}
}

// callSteps makes the next call of a machine, with every outcome that is allowed.
func (w *walk) callSteps(n *node, i int, pick func(*actor) machine, after func(*walk, *node, *actor) string) []step {
	next, more := pick(&n.actors[i]).next()
	if !more || w.beyond(next) {
		return nil
	}
	deliver := func(what string, prepare func(*node) outcome) step {
		c, a := n.fork(i)
		out := prepare(c)
		w.mutate(a, pick(a), next, &out)
		text := fmt.Sprintf("%d %s %s: %s", a.epoch, next.kind, strings.TrimPrefix(next.key, "s/"), what+answerText(out.answer))
		if err := pick(a).take(out); err != nil {
			a.phase = actorEnded
			return step{text + "; ends: " + err.Error(), c}
		}
		return step{text + after(w, c, a), c}
	}
	all := []step{deliver("", func(c *node) outcome { return answerTo(c, next) })}
	if next.kind == callCreate && n.lost < w.lost {
		all = append(all, deliver("answer lost, ", func(c *node) outcome {
			answerTo(c, next)
			c.lost++
			return outcome{answer: answerUnknown}
		}))
	}
	if next.kind == callCreate && n.lates < w.late {
		all = append(all, deliver("on its way, ", func(c *node) outcome {
			c.late = append(slices.Clip(c.late), object{key: next.key, data: next.data})
			c.lates++
			return outcome{answer: answerUnknown}
		}))
	}
	return all
}

func answerText(a answer) string {
	return [...]string{"", "done", "absent", "taken", "unknown"}[a]
}

// beyond keeps the log within bounds.
func (w *walk) beyond(c call) bool {
	return c.kind == callCreate && c.key > segmentKey("s", w.numbers) && strings.HasPrefix(c.key, "s/log/")
}

// opened goes from the opening to the session once it is done.
func (w *walk) opened(_ *node, a *actor) string {
	if w.mutant == withoutConfirming && a.opening.phase == openingConfirm {
		a.opening.phase = openingDone
	}
	if a.opening.phase != openingDone {
		return ""
	}
	a.phase, a.state, a.spans, a.ref = actorOpen, a.opening.state, a.opening.spans, a.opening.state.checkpoint
	a.opening = opening{}
	return "; is open"
}

func (w *walk) sessionSteps(n *node, i int) []step {
	var all []step
	a := &n.actors[i]
	if a.writing != nil {
		all = append(all, w.callSteps(n, i, func(a *actor) machine { return a.writing }, (*walk).written)...)
	} else {
		all = append(all, w.proposals(n, i)...)
	}
	switch {
	case a.merging != nil:
		all = append(all, w.callSteps(n, i, func(a *actor) machine { return a.merging }, (*walk).merged)...)
	case a.sweeping != nil:
		all = append(all, w.callSteps(n, i, func(a *actor) machine { return a.sweeping }, (*walk).swept)...)
	case a.due != nil:
		c, b := n.fork(i)
		b.sweeping, b.due = &sweep{stream: "s", left: *b.due}, nil
		all = append(all, step{fmt.Sprintf("%d begins to delete garbage", a.epoch), c})
	case a.merges < w.merges && a.kind != segmentClosing && a.writing == nil:
		if s, ok := w.merge(n, i); ok {
			all = append(all, s)
		}
	}
	return all
}

// proposals are the segments that a session may write next.
func (w *walk) proposals(n *node, i int) []step {
	var all []step
	if n.actors[i].records < w.records && n.actors[i].state.number < w.numbers {
		c, a := n.fork(i)
		a.proposed = ack{record: fmt.Sprintf("<%d.%d>", a.epoch, a.records+1), before: len(c.acked)}
		a.records++
		w.propose(a, segmentEntries, bodyOf(a.proposed.record))
		all = append(all, step{fmt.Sprintf("%d appends %s", a.epoch, a.proposed.record), c})
	}
	if w.hints && n.actors[i].state.number < w.numbers {
		c, a := n.fork(i)
		w.propose(a, segmentClosing, encodeClosingBody(&a.state, a.spans))
		all = append(all, step{fmt.Sprintf("%d closes", a.epoch), c})
	}
	return all
}

func bodyOf(record string) []byte {
	return encodeEntries([]entry{{kind: entryAppend, append: Append{Messages: messages(record)}}}, 0)
}

func (w *walk) propose(a *actor, kind segmentKind, body []byte) {
	h := head{
		kind: kind, stream: "s", session: fmt.Sprintf("session%d", a.epoch), epoch: a.epoch, number: a.state.number + 1,
		previous: a.state.self, first: a.state.tail, checkpoint: a.ref,
	}
	data, _ := h.encode(body)
	a.kind = kind
	a.writing = newProposal("s", h.number, data, w.anchors)
}

// written takes in the segment once it is settled.
func (w *walk) written(n *node, a *actor) string {
	p := a.writing
	if w.mutant == unknownIsNext && p.phase == proposalCreate {
		return w.proposeBehind(a)
	}
	if p.phase != proposalDone {
		return ""
	}
	if p.verdict != verdictWritten {
		a.phase = actorEnded
		return "; is fenced"
	}
	s, err := decodeSegment(p.data)
	if err == nil {
		_, err = a.state.fold(&s, 10)
	}
	if err != nil {
		panic(err)
	}
	a.spans = append(a.spans, span{number: s.number, kind: s.kind, first: s.first, end: a.state.tail})
	a.writing = nil
	if s.kind == segmentClosing {
		a.phase, n.tail = actorEnded, max(n.tail, s.number)
		return "; is closed"
	}
	n.acked = append(n.acked, a.proposed)
	if s.number%w.anchors == 0 && a.base != nil && s.checkpoint == a.ref && a.base.garbage.size() > 0 {
		g := a.base.garbage
		a.due = &g
	}
	return "; acknowledges " + a.proposed.record
}

// proposeBehind is what unknownIsNext does: it leaves a number whose outcome is unknown and takes the next.
func (w *walk) proposeBehind(a *actor) string {
	if a.kind != segmentEntries || a.writing.number >= w.numbers {
		return ""
	}
	a.state.number++
	w.propose(a, a.kind, bodyOf(a.proposed.record))
	return "; tries the next number"
}

// merge builds a checkpoint of all that the session knows.
func (w *walk) merge(n *node, i int) (step, bool) {
	c, a := n.fork(i)
	if a.state.number <= a.ref.covers || a.kind == 0 {
		return step{}, false // before the first own segment nothing new is known
	}
	if a.base == nil {
		a.base = &checkpoint{}
		if a.ref.covers != 0 {
			data, ok := n.get(objectKey("s", checkpointName(a.ref)))
			if !ok {
				return step{}, false
			}
			base, err := decodeCheckpoint(data)
			if err != nil {
				panic(err)
			}
			a.base = base
		}
	}
	plan := &mergePlan{
		session: fmt.Sprintf("session%d", a.epoch), state: a.state, spans: a.spans, base: a.base, baseRef: a.ref,
		anchors: w.anchors, chunkBytes: 1 << 10, blockBytes: 1, garbageLimit: 100,
	}
	var blocks []*block
	for _, ref := range plan.needs() {
		more, err := readChunk(n, &ref)
		if err != nil {
			return step{}, false
		}
		blocks = append(blocks, more...)
	}
	for _, sp := range a.spans {
		if sp.end == sp.first {
			continue
		}
		b, ok := readBlock(n, sp.number)
		if !ok || b.first != sp.first || b.end() != sp.end {
			return step{}, false
		}
		blocks = append(blocks, b)
	}
	a.merges++
	a.merging = plan.build("s", blocks)
	if w.mutant == openingsDeleted || w.mutant == anchorsDeleted {
		for _, sp := range a.spans {
			opens, anchors := sp.kind == segmentOpening, sp.number%w.anchors == 0
			if opens && !anchors && w.mutant == openingsDeleted || anchors && !opens && w.mutant == anchorsDeleted {
				a.merging.result.garbage.segments = append(a.merging.result.garbage.segments, sp.number)
			}
		}
	}
	return step{fmt.Sprintf("%d begins to merge up to %d", a.epoch, a.state.number), c}, true
}

func readBlock(n *node, number SegmentNumber) (*block, bool) {
	data, ok := n.get(segmentKey("s", number))
	if !ok {
		return nil, false
	}
	s, err := decodeSegment(data)
	if err != nil || s.kind != segmentEntries {
		return newBlock(s.first, nil), err == nil
	}
	entries, err := decodeEntries(s.body)
	return newBlock(s.first, messagesOf(entries)), err == nil
}

func (w *walk) merged(_ *node, a *actor) string {
	m := a.merging
	if _, more := m.next(); more {
		return ""
	}
	a.merging = nil
	if a.kind == segmentClosing {
		return "; does not use the checkpoint, since it closes"
	}
	a.ref, a.base = m.ref, &m.result
	a.spans = slices.Clone(uncovered(a.spans, m.ref))
	if w.mutant == sweptBeforeAnchor {
		g := a.base.garbage
		a.due = &g
	}
	return fmt.Sprintf("; goes on from checkpoint %d", m.ref.covers)
}

func (w *walk) swept(_ *node, a *actor) string {
	if _, more := a.sweeping.next(); !more {
		a.sweeping = nil
	}
	return ""
}

// mutate breaks the rule that the walk is to break, in what a machine is told.
func (w *walk) mutate(a *actor, m machine, c call, out *outcome) {
	_, proposing := m.(*proposal)
	_, opening := m.(*opening)
	switch w.mutant {
	case takenIsMine:
		if proposing && out.answer == answerTaken {
			out.answer = answerDone
		}
	case unknownIsDone:
		if proposing && c.kind == callCreate && out.answer == answerUnknown {
			out.answer = answerDone
		}
	case withoutLinks:
		if opening && c.kind == callGet && a.opening.phase == openingRead && out.answer == answerDone {
			out.data = forge(out.data, func(h *head) {
				h.previous, h.first = a.opening.state.self, a.opening.state.tail
				h.epoch = max(h.epoch, a.opening.state.epoch)
			})
		}
	case epochsIgnored:
		if opening && out.answer == answerDone && (c.kind == callGet || c.kind == callPeek) && strings.HasPrefix(c.key, "s/log/") {
			out.data = forge(out.data, func(h *head) {
				if h.epoch > a.epoch {
					h.epoch = a.epoch - 1
				}
			})
		}
	case asDesigned, withoutConfirming, openingsDeleted, sweptBeforeAnchor, anchorsDeleted, unknownIsNext:
	}
}

func forge(data []byte, change func(*head)) []byte {
	s, err := decodeSegment(data)
	if err != nil {
		panic(err)
	}
	change(&s.head)
	forged, _ := s.encode(s.body)
	return forged
}

// read opens the stream as a fresh session would, on a copy, and returns all payload.
func (w *walk) read(n *node) (string, error) {
	c := *n
	o := newOpening(opener{stream: "s", session: "reader", epoch: 99, producers: 10, anchors: w.anchors}, 0)
	for {
		next, more := o.next()
		if !more {
			break
		}
		if err := o.take(answerTo(&c, next)); err != nil {
			return "", err
		}
	}
	var text bytes.Buffer
	if o.state.checkpoint.covers != 0 {
		data, ok := c.get(objectKey("s", checkpointName(o.state.checkpoint)))
		if !ok {
			return "", errors.New("the checkpoint is missing")
		}
		ck, err := decodeCheckpoint(data)
		if err != nil {
			return "", err
		}
		for _, ref := range ck.chunks {
			blocks, err := readChunk(&c, &ref)
			if err != nil {
				return "", err
			}
			for _, b := range blocks {
				text.Write(bytes.Join(b.messages, nil))
			}
		}
	}
	for _, sp := range o.spans {
		b, ok := readBlock(&c, sp.number)
		if !ok {
			return "", fmt.Errorf("segment %d is missing", sp.number)
		}
		text.Write(bytes.Join(b.messages, nil))
	}
	if o.state.tail != Offset(text.Len()) {
		return "", fmt.Errorf("the tail is %d, but %q is read", o.state.tail, text.String())
	}
	return text.String(), nil
}

func readChunk(n *node, ref *chunkRef) ([]*block, error) {
	data, ok := n.get(objectKey("s", chunkName(ref)))
	if !ok {
		return nil, errors.New("a chunk is missing")
	}
	index, err := decodeChunkIndex(data[ref.indexAt:], "s", ref)
	if err != nil {
		return nil, err
	}
	var blocks []*block
	for i := range index {
		b, err := decodeChunkBlock(data[index[i].at:][:index[i].length], &index[i])
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// violation says what is wrong with a state, or nothing.
func (w *walk) violation(n *node) string {
	found, ok := w.readings[n.present]
	if !ok {
		text, err := w.read(n)
		found = text
		if err != nil {
			found = "error: " + err.Error()
		}
		w.readings[n.present] = found
	}
	if strings.HasPrefix(found, "error: ") {
		return "a fresh reader fails: " + strings.TrimPrefix(found, "error: ")
	}
	for _, k := range n.acked {
		at := strings.Index(found, k.record)
		if at < 0 || strings.Count(found, k.record) != 1 {
			return fmt.Sprintf("%s is acknowledged, but a fresh reader finds %q", k.record, found)
		}
		for _, earlier := range n.acked[:k.before] {
			if strings.Index(found, earlier.record) > at {
				return fmt.Sprintf("%s was acknowledged before %s was submitted, but a fresh reader finds %q", earlier.record, k.record, found)
			}
		}
	}
	return ""
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
	return digestOf(w.b)
}

func (a *actor) encode(w *writer) {
	w.byte(byte(a.phase))
	switch a.phase {
	case actorWaits, actorEnded:
	case actorOpens:
		o := &a.opening
		w.byte(byte(o.phase))
		w.b = append(w.b, o.state.self[:]...)
		for _, n := range []SegmentNumber{o.state.number, o.hint, o.lowest, o.missing, o.stride, o.mine, o.load.covers, o.anchor.number} {
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

// trail leads back from a state to the first.
type trail struct {
	parent int
	what   string
}

// run walks up to a number of states. It returns how many there are, and the story of a violation where it finds one.
func (w *walk) run(t *testing.T, statesAtMost int) (states int, story []string) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // the states stay, so collecting often is in vain
	w.readings = map[digest]string{}
	first := &node{}
	for e := range w.epochs {
		first.actors = append(first.actors, actor{epoch: Epoch(e + 1)})
	}
	seen := map[digest]bool{first.sum(): true}
	queue, trails := []*node{first}, []trail{{parent: -1}}
	for at := 0; at < len(queue); at++ {
		n := queue[at]
		queue[at] = nil
		if wrong := w.violation(n); wrong != "" {
			story = []string{wrong}
			for i := at; trails[i].parent >= 0; i = trails[i].parent {
				story = append(story, trails[i].what)
			}
			slices.Reverse(story)
			return at + 1, story
		}
		for _, s := range w.steps(n) {
			key := s.node.sum()
			if seen[key] {
				continue
			}
			seen[key] = true
			queue = append(queue, s.node)
			trails = append(trails, trail{parent: at, what: s.what})
		}
		if len(queue) > statesAtMost {
			t.Fatalf("more than %d states: the bounds are too wide", statesAtMost)
		}
	}
	return len(queue), nil
}

// deepFlag asks for the large worlds, which take minutes.
var deepFlag = flag.Bool("deep", false, "walk larger worlds: 1.4 million states, some minutes")

// TestTheLogIsWalked walks the rules as designed, in several small worlds.
func TestTheLogIsWalked(t *testing.T) {
	worlds := map[string]bounds{
		"a session merges while another opens":    {epochs: 2, numbers: 7, records: 5, merges: 2, anchors: 3},
		"three sessions open, and each may merge": {epochs: 3, numbers: 4, records: 2, merges: 1, anchors: 2},
		"answers are lost and creates come late":  {epochs: 2, numbers: 5, records: 2, merges: 1, lost: 1, late: 1, anchors: 2},
		"sessions close and hints are given":      {epochs: 3, numbers: 6, records: 1, merges: 1, anchors: 2, hints: true},
	}
	if *deepFlag {
		worlds = map[string]bounds{
			"a session merges while two others open":           {epochs: 3, numbers: 6, records: 4, merges: 1, anchors: 3},
			"answers are lost and creates come late":           {epochs: 2, numbers: 6, records: 3, merges: 1, lost: 1, late: 1, anchors: 3},
			"sessions close and hints are given":               {epochs: 3, numbers: 7, records: 1, merges: 1, anchors: 3, hints: true},
			"two sessions merge, the second from a checkpoint": {epochs: 2, numbers: 7, records: 4, merges: 2, anchors: 3},
		}
	}
	for name, b := range worlds {
		t.Run(name, func(t *testing.T) {
			w := &walk{bounds: b, mutant: asDesigned}
			states, story := w.run(t, 2_000_000)
			t.Logf("%d states", states)
			for _, line := range story {
				t.Error(line)
			}
		})
	}
}

// TestBrokenRulesAreFound breaks one rule at a time, for which the walk must find a counterexample.
func TestBrokenRulesAreFound(t *testing.T) {
	merging := bounds{epochs: 2, numbers: 7, records: 5, merges: 1, anchors: 3}
	for m, b := range map[mutant]bounds{
		withoutConfirming: merging,
		openingsDeleted:   merging,
		sweptBeforeAnchor: merging,
		anchorsDeleted:    merging,
		withoutLinks:      {epochs: 3, numbers: 5, records: 3, merges: 1, anchors: 2},
		takenIsMine:       {epochs: 2, numbers: 4, records: 2, anchors: 3},
		unknownIsDone:     {epochs: 2, numbers: 4, records: 2, late: 1, anchors: 3},
		unknownIsNext:     {epochs: 2, numbers: 5, records: 2, lost: 1, anchors: 3},
		epochsIgnored:     {epochs: 3, numbers: 6, records: 2, anchors: 3},
	} {
		t.Run(string(m), func(t *testing.T) {
			w := &walk{bounds: b, mutant: m}
			states, story := w.run(t, 2_000_000)
			if story == nil {
				t.Fatalf("no counterexample in %d states", states)
			}
			t.Logf("found after %d states:\n  %s", states, strings.Join(story, "\n  "))
		})
	}
}
