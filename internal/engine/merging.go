package engine

// merging writes the payload of segments as chunks, and then a checkpoint that lists them. It is built whole, and only
// creates; what it replaces is deleted by a sweep, after an anchor names the checkpoint.
type merging struct {
	stream string
	ref    reference
	result checkpoint

	creates []call
}

// mergePlan is what a merging puts together.
type mergePlan struct {
	session string
	// state is that of the last segment of spans.
	state state
	spans []span
	// base is the checkpoint before, ref its name; empty where there is none.
	base    *checkpoint
	baseRef reference
	anchors SegmentNumber
	// chunkBytes bounds the payload of a chunk, unless one segment is larger; blockBytes that of a block.
	chunkBytes, blockBytes int
	garbageLimit           int
	// orphans are objects that nothing names; keys, without the stream.
	orphans []string
}

// chunksKept splits the chunks of the base: those that stay, those that are merged again, and those that were trimmed.
// A chunk is merged again while it is smaller than twice what comes behind it: so sizes fall by halves, each byte is
// written again only as often as its chunk doubles, and the number of small chunks grows by the logarithm of the size.
func (p *mergePlan) chunksKept() (kept, again, trimmed []chunkRef) {
	chunks := p.base.chunks
	for len(chunks) > 0 && chunks[0].end <= p.state.start {
		trimmed = append(trimmed, chunks[0])
		chunks = chunks[1:]
	}
	size := p.state.tail - p.tailOfBase()
	n := len(chunks)
	if size == 0 {
		return chunks, nil, trimmed
	}
	for n > 0 {
		last := chunks[n-1].end - chunks[n-1].start
		if last >= 2*size || last+size > Offset(p.chunkBytes) {
			break
		}
		size += last
		n--
	}
	return chunks[:n:n], chunks[n:], trimmed
}

// tailOfBase is where the payload of the spans begins.
func (p *mergePlan) tailOfBase() Offset { return p.base.state.tail }

// needs are the chunks whose payload build wants before that of the spans.
func (p *mergePlan) needs() []chunkRef {
	_, again, _ := p.chunksKept()
	return again
}

// build makes the objects. blocks are the payload of the chunks that are merged again and of the spans, in order.
func (p *mergePlan) build(stream string, blocks []*block) *merging {
	kept, again, trimmed := p.chunksKept()
	m := &merging{stream: stream, ref: reference{covers: p.state.number, session: p.session}}
	m.result = checkpoint{stream: stream, state: p.state, chunks: kept, garbage: p.garbage(again, trimmed)}
	for part, run := range p.cutChunks(blocks) {
		ref := chunkRef{session: p.session, covers: p.state.number, part: int64(part)}
		data, ref := encodeChunk(ref, stream, run, p.blockBytes)
		m.result.chunks = append(m.result.chunks, ref)
		m.creates = append(m.creates, call{kind: callCreate, key: objectKey(stream, chunkName(&ref)), data: data})
	}
	m.creates = append(m.creates, call{kind: callCreate, key: objectKey(stream, checkpointName(m.ref)), data: m.result.encode()})
	return m
}

// cutChunks groups blocks into runs of about so many bytes. What was trimmed already is left out, by whole blocks; where
// all of it was, no chunk is made.
func (p *mergePlan) cutChunks(blocks []*block) [][]*block {
	var runs [][]*block
	var run []*block
	var size Offset
	for _, b := range blocks {
		if b.end() <= p.state.start || b.end() == b.first {
			continue
		}
		length := b.end() - b.first
		if size > 0 && size+length > Offset(p.chunkBytes) {
			runs, run, size = append(runs, run), nil, 0
		}
		run = append(run, b)
		size += length
	}
	if len(run) > 0 {
		runs = append(runs, run)
	}
	return runs
}

// garbage is what nobody needs any more who knows the new checkpoint.
func (p *mergePlan) garbage(dropped ...[]chunkRef) garbage {
	var g garbage
	g.segments = append(g.segments, p.base.garbage.segments...)
	g.objects = append(g.objects, p.base.garbage.objects...)
	for _, s := range p.spans {
		if s.kind != segmentOpening && s.number%p.anchors != 0 {
			g.segments = append(g.segments, s.number)
		}
	}
	for _, chunks := range dropped {
		for i := range chunks {
			g.objects = append(g.objects, chunkName(&chunks[i]))
		}
	}
	if p.baseRef.covers != 0 {
		g.objects = append(g.objects, checkpointName(p.baseRef))
	}
	g.objects = append(g.objects, p.orphans...)
	// A store that refuses to delete must not make checkpoints grow for ever: what falls out here is left to tools.
	g.segments = g.segments[max(0, len(g.segments)-p.garbageLimit):]
	g.objects = g.objects[max(0, len(g.objects)-p.garbageLimit):]
	return g
}

func (m *merging) next() (call, bool) {
	if len(m.creates) == 0 {
		return call{}, false
	}
	return m.creates[0], true
}

func (m *merging) take(out outcome) error {
	// The name is this session's alone: where it is taken, an earlier attempt was applied.
	if out.answer == answerDone || out.answer == answerTaken {
		m.creates = m.creates[1:]
	}
	return nil
}

// sweep deletes the garbage of a checkpoint that an anchor names.
type sweep struct {
	stream string
	left   garbage
}

func (w *sweep) next() (call, bool) {
	switch {
	case len(w.left.segments) > 0:
		return call{kind: callDelete, key: segmentKey(w.stream, w.left.segments[0])}, true
	case len(w.left.objects) > 0:
		return call{kind: callDelete, key: objectKey(w.stream, w.left.objects[0])}, true
	}
	return call{}, false
}

func (w *sweep) take(out outcome) error {
	switch {
	case out.answer != answerDone:
	case len(w.left.segments) > 0:
		w.left.segments = w.left.segments[1:]
	case len(w.left.objects) > 0:
		w.left.objects = w.left.objects[1:]
	}
	return nil
}
