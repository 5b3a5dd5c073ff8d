package engine

import (
	"fmt"
)

// life is how far a stream has come. It only ever rises.
type life byte

const (
	// lifeUnborn: sessions were opened, but no client created the stream.
	lifeUnborn life = iota
	lifeOpen
	// lifeClosed: it takes no append any more.
	lifeClosed
	// lifeDeleted: the log ends with the record of its deletion.
	lifeDeleted
)

// state is what the log says up to one segment. It is folded from nothing or from a snapshot, segment by segment, and
// two states that were folded from the same segments are the same.
type state struct {
	// Of the last segment.
	number  SegmentNumber
	self    link
	kind    segmentKind
	epoch   Epoch
	session string

	checkpoint reference
	life       life
	start      Offset
	tail       Offset
	lastAccess int64 // Unix milliseconds
	lastSeq    string
	producers  producers
}

// errUnlinked tells that a segment is not the successor of the last one folded.
var errUnlinked = fmt.Errorf("%w: the segment does not follow the one before it", errMalformed)

// fold takes the next segment in. Where it fails, the state is as before.
func (st *state) fold(s *segment, limit int) ([]entry, error) {
	if s.number != st.number+1 || s.previous != st.self || s.first != st.tail || s.epoch < st.epoch {
		return nil, errUnlinked
	}
	var entries []entry
	var born bool
	var err error
	switch s.kind {
	case segmentOpening:
		born, err = decodeOpeningBody(s.body)
	case segmentEntries:
		entries, err = decodeEntries(s.body)
	case segmentClosing:
		_, _, err = decodeClosingBody(s.body) // the same state again; only its form is checked
	case segmentDeletion:
		err = (&reader{b: s.body}).end()
	}
	if err != nil {
		return nil, err
	}
	st.follow(s)
	if born {
		st.life = max(st.life, lifeOpen)
	}
	if s.kind == segmentDeletion {
		st.life = lifeDeleted
	}
	for i := range entries {
		st.apply(&entries[i], limit)
	}
	return entries, nil
}

// follow takes in what a segment's head says.
func (st *state) follow(s *segment) {
	st.number = s.number
	st.self = s.self
	st.kind = s.kind
	st.epoch = s.epoch
	st.session = s.session
	st.checkpoint = s.checkpoint
	st.lastAccess = max(st.lastAccess, s.lastAccess)
}

func (st *state) apply(e *entry, limit int) {
	if e.kind == entryTrim {
		st.start = max(st.start, min(e.start, st.tail))
		return
	}
	a := &e.append
	st.tail += Offset(payload(a.Messages))
	if a.Create {
		st.life = max(st.life, lifeOpen)
	}
	if a.Producer != nil {
		st.producers.set(*a.Producer, limit)
	}
	if a.Seq != "" {
		st.lastSeq = a.Seq
	}
	if a.CloseStream {
		st.life = max(st.life, lifeClosed)
	}
}

// clone returns a state of its own, which later segments do not change.
func (st *state) clone() state {
	c := *st
	c.producers = st.producers.clone()
	return c
}

// encode writes a snapshot: everything but checkpoint, which its surroundings hold.
func (st *state) encode(w *writer) {
	w.number(int64(st.number))
	w.b = append(w.b, st.self[:]...)
	w.byte(byte(st.kind))
	w.number(int64(st.epoch))
	w.string(st.session)
	w.byte(byte(st.life))
	w.number(int64(st.start))
	w.number(int64(st.tail))
	w.number(st.lastAccess)
	w.string(st.lastSeq)
	st.producers.encode(w)
}

func decodeState(r *reader) state {
	st := state{number: SegmentNumber(r.number())}
	copy(st.self[:], r.take(len(link{})))
	st.kind = segmentKind(r.byte())
	st.epoch = Epoch(r.number())
	st.session = r.string()
	st.life = life(r.byte())
	st.start = Offset(r.number())
	st.tail = Offset(r.number())
	st.lastAccess = r.number()
	st.lastSeq = r.string()
	st.producers.decode(r)
	if st.life > lifeDeleted || st.kind > segmentDeletion || st.start > st.tail {
		r.fail("its state is none")
	}
	return st
}

// span says which positions a segment holds that no checkpoint covers yet.
type span struct {
	number     SegmentNumber
	kind       segmentKind
	first, end Offset
	size       int // of the object, bytes
}

// uncovered drops the spans that a checkpoint covers.
func uncovered(spans []span, ref reference) []span {
	n := 0
	for n < len(spans) && spans[n].number <= ref.covers {
		n++
	}
	return spans[n:]
}

// encodeOpeningBody is one byte: 1 where the stream exists for clients from here on, whoever creates it later.
func encodeOpeningBody(born bool) []byte {
	if born {
		return []byte{1}
	}
	return []byte{0}
}

func decodeOpeningBody(body []byte) (born bool, err error) {
	r := reader{b: body}
	v := r.byte()
	if v > 1 {
		r.fail("its opening is none")
	}
	return v == 1, r.end()
}

// encodeClosingBody holds the state before the closing segment, and the segments that no checkpoint covers.
func encodeClosingBody(st *state, spans []span) []byte {
	var w writer
	st.encode(&w)
	w.number(int64(len(spans)))
	var last SegmentNumber
	for _, s := range spans {
		w.number(int64(s.number - last))
		w.byte(byte(s.kind))
		w.number(int64(s.first))
		w.number(int64(s.end - s.first))
		w.number(int64(s.size))
		last = s.number
	}
	return w.b
}

func decodeClosingBody(body []byte) (state, []span, error) {
	r := reader{b: body}
	st := decodeState(&r)
	spans := decodeSpans(&r)
	return st, spans, r.end()
}

func decodeSpans(r *reader) []span {
	n := r.count()
	spans := make([]span, 0, min(n, 4096))
	var last SegmentNumber
	for range n {
		s := span{number: last + SegmentNumber(r.number()), kind: segmentKind(r.byte()), first: Offset(r.number())}
		s.end = s.first + Offset(r.number())
		s.size = int(r.number())
		if s.number < last || s.end < s.first {
			r.fail("its index overflows")
		}
		if r.err != nil {
			return nil
		}
		spans = append(spans, s)
		last = s.number
	}
	return spans
}
