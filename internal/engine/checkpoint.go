package engine

import "fmt"

const checkpointMagic = "SCKP"

// checkpoint is what a session needs to go on from a segment without the ones before it. It takes effect when a segment
// names it; until then it is an object that nobody knows.
type checkpoint struct {
	stream string
	// state is that of the segment that it covers, but for the state's own reference to a checkpoint.
	state state
	// chunks hold the payload from the stream's start to the state's tail, in order.
	chunks []chunkRef
	// garbage is what nobody needs who knows this checkpoint.
	garbage garbage
}

// garbage names objects to delete, once an anchor names the checkpoint that lists them. So deleting is a record in the
// log before it is done; done late, twice or by a session that was fenced, it is harmless.
type garbage struct {
	// segments are never openings or anchors.
	segments []SegmentNumber
	objects  []string // keys, without the stream
}

func (g *garbage) size() int { return len(g.segments) + len(g.objects) }

func (c *checkpoint) encode() []byte {
	var w writer
	w.b = append(w.b, checkpointMagic...)
	w.byte(formatVersion)
	w.string(c.stream)
	c.state.encode(&w)
	w.number(int64(len(c.chunks)))
	for i := range c.chunks {
		c.chunks[i].encode(&w)
	}
	w.number(int64(len(c.garbage.segments)))
	var last SegmentNumber
	for _, n := range c.garbage.segments {
		w.number(int64(n - last))
		last = n
	}
	w.number(int64(len(c.garbage.objects)))
	for _, key := range c.garbage.objects {
		w.string(key)
	}
	w.uint32(checksum(w.b))
	return w.b
}

func decodeCheckpoint(data []byte) (*checkpoint, error) {
	if len(data) < 4 {
		return nil, fmt.Errorf("%w: it ends too early", errMalformed)
	}
	body := data[:len(data)-4]
	if sum := (&reader{b: data[len(body):]}).uint32(); sum != checksum(body) {
		return nil, fmt.Errorf("%w: its checksum differs", errMalformed)
	}
	r := reader{b: body}
	if string(r.take(len(checkpointMagic))) != checkpointMagic || r.byte() != formatVersion {
		r.fail("it is no checkpoint of a known version")
	}
	c := &checkpoint{stream: r.string(), state: decodeState(&r)}
	c.chunks = decodeChunkRefs(&r)
	c.garbage = decodeGarbage(&r)
	if n := len(c.chunks); n > 0 && c.chunks[n-1].end != c.state.tail || n == 0 && c.state.start != c.state.tail {
		r.fail("its chunks do not reach the tail")
	}
	return c, r.end()
}

func decodeChunkRefs(r *reader) []chunkRef {
	n := r.count()
	chunks := make([]chunkRef, 0, min(n, 4096))
	for i := range n {
		c := decodeChunkRef(r)
		if i > 0 && c.start != chunks[i-1].end {
			r.fail("its chunks have a gap")
		}
		if r.err != nil {
			return nil
		}
		chunks = append(chunks, c)
	}
	return chunks
}

func decodeGarbage(r *reader) garbage {
	var g garbage
	var last SegmentNumber
	for range r.count() {
		last += SegmentNumber(r.number())
		g.segments = append(g.segments, last)
		if r.err != nil {
			return garbage{}
		}
	}
	for range r.count() {
		g.objects = append(g.objects, r.string())
		if r.err != nil {
			return garbage{}
		}
	}
	return g
}
