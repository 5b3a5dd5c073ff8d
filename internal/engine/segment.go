package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// segmentKind says what a segment is for.
type segmentKind byte

const (
	// segmentOpening begins a session. It is never deleted while the stream exists.
	segmentOpening segmentKind = iota + 1
	// segmentEntries holds appends and trims.
	segmentEntries
	// segmentClosing ends a session and holds the whole state, so that the next session reads this one object.
	segmentClosing
	// segmentDeletion ends the stream.
	segmentDeletion
)

const (
	segmentMagic    = "SSEG"
	formatVersion   = 1
	segmentPreamble = 4 + 1 + 1 + 2 + 4 + 8 + 4
	// segmentPeek is enough for the preamble and the header of every segment.
	segmentPeek = 8 << 10
)

// link stands for a segment in the one that follows it: the log is a chain, so that a segment written into a hole that
// merging left is never taken for part of it. Its value is the first 8 bytes of the SHA-256 of the segment's head.
type link [8]byte

// reference names a checkpoint; the zero value means that there is none.
type reference struct {
	// covers is the last segment whose effect the checkpoint holds.
	covers SegmentNumber
	// session wrote it.
	session string
}

// head is what a segment says about itself.
type head struct {
	kind       segmentKind
	stream     string
	session    string
	epoch      Epoch
	number     SegmentNumber
	previous   link
	first      Offset // the tail before this segment
	written    int64  // Unix milliseconds
	lastAccess int64  // Unix milliseconds, coarse
	checkpoint reference
}

// segment is a decoded one.
type segment struct {
	head
	self link
	body []byte
}

// encode returns the bytes of a segment, which format.md describes, and its link.
func (h *head) encode(body []byte) ([]byte, link) {
	fields := writer{}
	fields.string(h.stream)
	fields.string(h.session)
	fields.number(int64(h.epoch))
	fields.number(int64(h.number))
	fields.b = append(fields.b, h.previous[:]...)
	fields.number(int64(h.first))
	fields.number(h.written)
	fields.number(h.lastAccess)
	encodeReference(&fields, h.checkpoint)

	w := writer{b: make([]byte, 0, segmentPreamble+len(fields.b)+4+len(body))}
	w.b = append(w.b, segmentMagic...)
	w.byte(formatVersion)
	w.byte(byte(h.kind))
	w.byte(0)
	w.byte(0)
	w.uint32(uint32(len(fields.b))) // #nosec G115 -- names are bounded by maxName
	w.uint64(uint64(len(body)))
	w.uint32(checksum(body))
	w.b = append(w.b, fields.b...)
	w.uint32(checksum(w.b))
	self := linkOf(w.b)
	return append(w.b, body...), self
}

func encodeReference(w *writer, ref reference) {
	w.number(int64(ref.covers))
	w.string(ref.session)
}

func decodeReference(r *reader) reference {
	return reference{covers: SegmentNumber(r.number()), session: r.string()}
}

func linkOf(head []byte) link {
	sum := sha256.Sum256(head)
	return link(sum[:len(link{})])
}

// decodeHead reads a segment's head from its first segmentPeek bytes, or from all of it.
func decodeHead(data []byte) (s segment, bodyAt int, err error) {
	r := reader{b: data}
	if string(r.take(len(segmentMagic))) != segmentMagic {
		r.fail("it is no segment")
	}
	if version := r.byte(); r.err == nil && version != formatVersion {
		return s, 0, fmt.Errorf("%w: format version %d is not known to this program", errMalformed, version)
	}
	s.kind = segmentKind(r.byte())
	if !bytes.Equal(r.take(2), []byte{0, 0}) {
		r.fail("reserved bytes are set")
	}
	fieldsLength := int64(r.uint32())
	r.take(8 + 4) // the body's length and checksum
	if fieldsLength > segmentPeek {
		r.fail("its head is too long")
	}
	fields := reader{b: r.take(int(fieldsLength)), err: r.err}
	sum := r.uint32()
	if r.err != nil {
		return s, 0, r.err
	}
	bodyAt = len(data) - len(r.b)
	if checksum(data[:bodyAt-4]) != sum {
		r.fail("the head's checksum differs")
		return s, 0, r.err
	}
	s.self = linkOf(data[:bodyAt])
	s.stream = fields.string()
	s.session = fields.string()
	s.epoch = Epoch(fields.number())
	s.number = SegmentNumber(fields.number())
	copy(s.previous[:], fields.take(len(link{})))
	s.first = Offset(fields.number())
	s.written = fields.number()
	s.lastAccess = fields.number()
	s.checkpoint = decodeReference(&fields)
	if s.kind < segmentOpening || s.kind > segmentDeletion {
		fields.fail("its kind is not known")
	}
	return s, bodyAt, fields.end()
}

// decodeSegment reads a whole segment. The body shares the memory of data.
func decodeSegment(data []byte) (segment, error) {
	s, bodyAt, err := decodeHead(data)
	if err != nil {
		return segment{}, err
	}
	s.body = data[bodyAt:]
	length := binary.LittleEndian.Uint64(data[12:])
	switch {
	case length != uint64(len(s.body)):
		return segment{}, fmt.Errorf("%w: the body has %d bytes, its head says %d", errMalformed, len(s.body), length)
	case checksum(s.body) != binary.LittleEndian.Uint32(data[20:]):
		return segment{}, fmt.Errorf("%w: the body's checksum differs", errMalformed)
	}
	return s, nil
}

// entryKind says what an entry of a segment does.
type entryKind byte

const (
	entryAppend entryKind = iota + 1
	entryTrim
)

// entry is one change of the stream. A segment of entries holds one or more.
type entry struct {
	kind   entryKind
	append Append // of entryAppend
	start  Offset // of entryTrim: the first position that is kept
}

// Flags of an append in a segment.
const (
	flagCreate = 1 << iota
	flagClose
	flagProducer
	flagSeq
	flagsKnown = flagCreate | flagClose | flagProducer | flagSeq
)

func (e *entry) encode(w *writer) {
	w.byte(byte(e.kind))
	if e.kind == entryTrim {
		w.number(int64(e.start))
		return
	}
	a := &e.append
	var flags byte
	if a.Create {
		flags |= flagCreate
	}
	if a.CloseStream {
		flags |= flagClose
	}
	if a.Producer != nil {
		flags |= flagProducer
	}
	if a.Seq != "" {
		flags |= flagSeq
	}
	w.byte(flags)
	if a.Producer != nil {
		encodeProducer(w, *a.Producer)
	}
	if a.Seq != "" {
		w.string(a.Seq)
	}
	w.number(int64(len(a.Messages)))
	for _, m := range a.Messages {
		w.bytes(m)
	}
}

func encodeProducer(w *writer, p Producer) {
	w.string(p.ID)
	w.number(p.Epoch)
	w.number(p.Seq)
}

func decodeProducer(r *reader) Producer {
	return Producer{ID: r.string(), Epoch: r.number(), Seq: r.number()}
}

// decodeEntries reads the body of a segment of entries. Messages share its memory.
func decodeEntries(body []byte) ([]entry, error) {
	r := reader{b: body}
	entries := make([]entry, 0, min(r.count(), 1024))
	for len(r.b) > 0 {
		e := entry{kind: entryKind(r.byte())}
		switch e.kind {
		case entryAppend:
			e.append = decodeAppend(&r)
		case entryTrim:
			e.start = Offset(r.number())
		default:
			r.fail("an entry's kind is not known")
		}
		entries = append(entries, e)
	}
	if err := r.end(); err != nil {
		return nil, err
	}
	if n := (&reader{b: body}).number(); n != int64(len(entries)) {
		return nil, fmt.Errorf("%w: it holds %d entries and says %d", errMalformed, len(entries), n)
	}
	return entries, nil
}

func encodeEntries(entries []entry, size int) []byte {
	w := writer{b: make([]byte, 0, size)}
	w.number(int64(len(entries)))
	for i := range entries {
		entries[i].encode(&w)
	}
	return w.b
}

func decodeAppend(r *reader) Append {
	var a Append
	flags := r.byte()
	if flags&^flagsKnown != 0 {
		r.fail("an append has flags that are not known")
	}
	a.Create = flags&flagCreate != 0
	a.CloseStream = flags&flagClose != 0
	if flags&flagProducer != 0 {
		p := decodeProducer(r)
		a.Producer = &p
	}
	if flags&flagSeq != 0 {
		a.Seq = r.string()
	}
	n := r.count()
	if n > 0 {
		a.Messages = make([][]byte, 0, min(n, 4096))
	}
	for range n {
		m := r.bytes()
		if len(m) == 0 {
			r.fail("a message is empty")
			break
		}
		a.Messages = append(a.Messages, m)
	}
	return a
}

// payload is the number of bytes by which an append moves the tail.
func payload(messages [][]byte) int {
	n := 0
	for _, m := range messages {
		n += len(m)
	}
	return n
}
