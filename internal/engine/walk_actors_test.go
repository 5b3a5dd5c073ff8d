package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

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
		if a.closedAt != 0 && a.resumed < w.resumes {
			return []step{w.resume(n, i)}
		}
	}
	return nil
}

// resume has a session go on that has closed.
func (w *walk) resume(n *node, i int) step {
	c, a := n.fork(i)
	a.phase, a.resumed, a.base, a.merging, a.sweeping, a.due, a.kind = actorOpens, a.resumed+1, nil, nil, nil, nil, 0
	a.opening = *newOpening(opener{
		stream: "s", session: fmt.Sprintf("session%d", a.epoch), epoch: a.epoch, born: true, producers: 10, anchors: w.anchors,
		resumes: w.mutant != resumesAnyhow,
	}, a.closedAt)
	if w.mutant == resumesAnyhow {
		a.opening.phase = openingDone // it goes on writing behind its closing segment
		a.opening.state, a.opening.spans = a.state, a.spans
	}
	a.closedAt = 0
	text := w.opened(c, a)
	return step{fmt.Sprintf("%d resumes", a.epoch) + text, c}
}

func (w *walk) begin(n *node, i int) step {
	c, a := n.fork(i)
	a.phase = actorOpens
	hint := SegmentNumber(0)
	if w.hints {
		hint = n.tail
	}
	a.opening = *newOpening(opener{
		stream: "s", session: fmt.Sprintf("session%d", a.epoch), epoch: a.epoch, born: true, producers: 10, anchors: w.anchors, known: n.known,
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
			if truncated, is := errors.AsType[*TruncatedError](err); is {
				c.refused = truncated.Error()
			}
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
func (w *walk) opened(n *node, a *actor) string {
	if w.mutant == withoutConfirming && a.opening.phase == openingConfirm {
		a.opening.phase = openingDone
	}
	if a.opening.phase != openingDone {
		return ""
	}
	n.known = max(n.known, a.opening.mine)
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
		if w.resumes > 0 {
			a.closedAt = s.number
		}
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
