package engine

import (
	"fmt"
)

// opener is who opens a stream, and under which rules.
type opener struct {
	stream  string
	session string
	epoch   Epoch
	// born tells that the stream exists for clients without an append that creates it.
	born bool
	// now is the time of the opening, Unix milliseconds.
	now       int64
	producers int // limit of the table
	anchors   SegmentNumber
	// resumes tells that the session's own closing segment, which the hint names, is no fence to it.
	resumes bool
	// known is the number of a segment that was written, 0 where none is known.
	known SegmentNumber
}

// anchorEvery is the distance of anchors: segments whose number is a multiple of it. Anchors are never deleted, whatever
// they hold, so that the newest one is found by probing; and a segment is deleted only after a later anchor names a
// checkpoint that covers it, so that looking at one anchor tells whether a number is in a hole. It is part of the
// format: another value needs another format version.
const anchorEvery = 256

// restartsAtMost bounds how often an opening begins anew because the log moved on meanwhile.
const restartsAtMost = 32

// openingPhase says what an opening waits for.
type openingPhase byte

const (
	// openingHint reads the segment of which the caller says that it closed the session before.
	openingHint openingPhase = iota + 1
	// openingSearch looks for the newest anchor.
	openingSearch
	// openingLoad reads the checkpoint that the newest anchor names.
	openingLoad
	// openingRead reads the log on.
	openingRead
	// openingMissing looks whether the log ends before what is known to be in it, or only has a hole there.
	openingMissing
	// openingPropose writes the opening segment.
	openingPropose
	// openingConfirm looks whether the opening was written into a hole.
	openingConfirm
	openingDone
)

// opening finds the end of the log and writes the opening segment there.
//
// What must hold at its end: the opening's number was never used before, and state is what all segments before it say.
// The chain of links makes the second sure. For the first there are two ways. Behind a closing segment, and at number 1,
// the first segment ever written is an opening, which is never deleted; so where creating succeeds, nothing was there.
// Anywhere else the number may be in a hole: written by another session, merged and deleted while this one was paused.
// Then an anchor behind that number exists already, since nothing is deleted without one; the opening looks for it after
// it wrote, and where it is there begins anew. What it wrote into the hole is read by nobody.
//
// A log that ends before a segment that is known to have been written is refused before anything is written: it would be a second log
// of the stream, without what was acknowledged. There too an anchor behind the end tells that it is a hole.
type opening struct {
	opener
	phase openingPhase
	hint  SegmentNumber // 0: none

	state state
	spans []span
	// lowest is the newest anchor that exists, as a multiple; missing is one that does not, or 0 while none is known.
	lowest, missing, stride SegmentNumber
	anchor                  segment // the one at lowest; only its head
	load                    reference
	// mine is where this session's opening was found, 0 where it was not yet.
	mine     SegmentNumber
	certain  bool // creating at the proposed number proves that nothing was there
	restarts int
	data     []byte // the proposed opening
	self     segment
}

func newOpening(who opener, hint SegmentNumber) *opening {
	o := &opening{opener: who, hint: hint}
	switch {
	case hint > 0:
		o.phase = openingHint
	case who.epoch == 1 && who.known == 0:
		o.propose() // most likely nothing was ever written
	default:
		o.search()
	}
	return o
}

func (o *opening) next() (call, bool) {
	switch o.phase {
	case openingHint:
		return call{kind: callGet, key: segmentKey(o.stream, o.hint)}, true
	case openingSearch:
		return call{kind: callPeek, key: segmentKey(o.stream, o.probe()*o.anchors)}, true
	case openingLoad:
		return call{kind: callGet, key: objectKey(o.stream, checkpointName(o.load))}, true
	case openingRead:
		return call{kind: callGet, key: segmentKey(o.stream, o.state.number+1)}, true
	case openingMissing:
		return call{kind: callPeek, key: segmentKey(o.stream, o.anchorBehind(o.state.number+1))}, true
	case openingPropose:
		return call{kind: callCreate, key: segmentKey(o.stream, o.state.number+1), data: o.data}, true
	case openingConfirm:
		return call{kind: callPeek, key: segmentKey(o.stream, o.anchorBehind(o.mine))}, true
	case openingDone:
	}
	return call{}, false
}

func (o *opening) take(out outcome) error {
	if out.answer == answerUnknown {
		return nil
	}
	switch o.phase {
	case openingHint:
		return o.takeHint(out)
	case openingSearch:
		return o.takeAnchor(out)
	case openingLoad:
		return o.takeCheckpoint(out)
	case openingRead:
		return o.takeSegment(out)
	case openingMissing:
		return o.takeMissing(out)
	case openingPropose:
		return o.takeProposed(out)
	case openingConfirm:
		return o.takeConfirm(out)
	case openingDone:
	}
	return nil
}

// anchorBehind is the first anchor behind a number.
func (o *opening) anchorBehind(n SegmentNumber) SegmentNumber {
	return (n/o.anchors + 1) * o.anchors
}

// takeHint uses the hint if it is what it is said to be; it is never trusted to be the end of the log.
func (o *opening) takeHint(out outcome) error {
	if out.answer == answerAbsent {
		if o.resumes { // merged away by a later owner
			return &FencedError{Epoch: o.epoch}
		}
		o.search()
		return nil
	}
	s, err := o.decode(out.data, o.hint)
	if err != nil {
		return err
	}
	closedHere := o.resumes && s.epoch == o.epoch && s.session == o.session && s.kind == segmentClosing
	if o.resumes && !closedHere {
		return &FencedError{Epoch: s.epoch}
	}
	if err := o.checkOwner(&s); err != nil && !closedHere {
		return err
	}
	if s.kind != segmentClosing {
		o.search()
		return nil
	}
	st, spans, err := decodeClosingBody(s.body)
	if err != nil {
		return fmt.Errorf("reading the closing segment %d: %w", s.number, err)
	}
	if s.number != st.number+1 || s.previous != st.self || s.first != st.tail {
		return fmt.Errorf("reading the closing segment %d: %w", s.number, errUnlinked)
	}
	st.follow(&s)
	o.state, o.spans = st, spans
	if o.state.number < o.known { // the hint is an old one
		o.search()
		return nil
	}
	o.propose()
	return nil
}

// search begins to look for the newest anchor: first in steps that double, then by halves. Numbers of anchors up to the
// newest have no gap.
func (o *opening) search() {
	o.phase = openingSearch
	o.lowest = o.state.number / o.anchors
	o.missing, o.stride = 0, 1
	if o.state.number == 0 {
		o.stride = max(1, o.hint/o.anchors, o.known/o.anchors)
	}
	o.anchor = segment{}
}

func (o *opening) probe() SegmentNumber {
	if o.missing == 0 {
		return o.lowest + o.stride
	}
	return o.lowest + (o.missing-o.lowest)/2
}

func (o *opening) takeAnchor(out outcome) error {
	at := o.probe()
	if out.answer == answerAbsent {
		o.missing = at
	} else {
		s, _, err := decodeHead(out.data)
		if err == nil {
			err = o.checkIdentity(&s, at*o.anchors)
		}
		if err != nil {
			return fmt.Errorf("reading segment %d: %w", at*o.anchors, err)
		}
		if err := o.checkOwner(&s); err != nil {
			return err
		}
		o.lowest, o.anchor = at, s
		o.stride *= 2
	}
	if o.missing == 0 || o.missing > o.lowest+1 {
		return nil
	}
	if o.anchor.checkpoint.covers > o.state.number {
		o.load, o.phase = o.anchor.checkpoint, openingLoad
		return nil
	}
	o.phase = openingRead
	return nil
}

func (o *opening) takeCheckpoint(out outcome) error {
	if out.answer == answerAbsent {
		return o.restart() // a newer one replaced it
	}
	c, err := decodeCheckpoint(out.data)
	if err == nil && (c.stream != o.stream || c.state.number != o.load.covers) {
		err = fmt.Errorf("%w: it belongs to another stream or segment", errMalformed)
	}
	if err != nil {
		return fmt.Errorf("reading checkpoint %d: %w", o.load.covers, err)
	}
	o.state, o.spans = c.state, nil
	o.state.checkpoint = o.load
	o.phase = openingRead
	return nil
}

func (o *opening) takeSegment(out outcome) error {
	if out.answer == answerAbsent {
		if o.mine != 0 && o.mine == o.state.number {
			o.confirm() // found from an earlier try whose outcome was unknown
			return nil
		}
		if o.state.life == lifeDeleted {
			return ErrStreamDeleted
		}
		if o.state.number < o.known {
			o.phase = openingMissing
			return nil
		}
		o.propose()
		return nil
	}
	s, err := o.decode(out.data, o.state.number+1)
	if err != nil {
		return err
	}
	if err := o.checkOwner(&s); err != nil {
		return err
	}
	o.certain = o.behindClosing()
	if _, err := o.state.fold(&s, o.producers); err != nil {
		// Either the log moved on and this is a segment behind a hole, or the log is broken: reading anew tells.
		return o.restartBecause(fmt.Errorf("reading segment %d: %w", s.number, err))
	}
	o.spans = append(o.spans, span{number: s.number, kind: s.kind, first: s.first, end: o.state.tail, size: len(out.data)})
	o.spans = uncovered(o.spans, o.state.checkpoint)
	if s.epoch == o.epoch {
		o.mine, o.self = s.number, s
	}
	return nil
}

// takeMissing: nothing is deleted without an anchor behind it, and anchors are never deleted.
func (o *opening) takeMissing(out outcome) error {
	if out.answer == answerAbsent {
		return &TruncatedError{End: o.state.number, Known: o.known}
	}
	return o.restart()
}

// propose makes the opening segment for the next number.
func (o *opening) propose() {
	h := head{
		kind: segmentOpening, stream: o.stream, session: o.session, epoch: o.epoch,
		number: o.state.number + 1, previous: o.state.self, first: o.state.tail,
		written: o.now, lastAccess: o.state.lastAccess, checkpoint: o.state.checkpoint,
	}
	o.certain = o.behindClosing()
	body := encodeOpeningBody(o.born)
	o.data, _ = h.encode(body)
	o.phase = openingPropose
}

// behindClosing tells whether the first segment ever written at the next number is an opening.
func (o *opening) behindClosing() bool {
	return o.state.number == 0 || o.state.kind == segmentClosing
}

func (o *opening) takeProposed(out outcome) error {
	if out.answer == answerTaken {
		if o.state.number == 0 || o.state.number == o.hint && !o.resumes {
			o.search() // the log goes on, who knows how far
			return nil
		}
		o.phase = openingRead
		return nil
	}
	s, err := o.decode(o.data, o.state.number+1)
	if err != nil {
		return err
	}
	if _, err := o.state.fold(&s, o.producers); err != nil {
		return fmt.Errorf("writing the opening segment %d: %w", s.number, err)
	}
	o.spans = append(o.spans, span{number: s.number, kind: s.kind, first: s.first, end: s.first, size: len(o.data)})
	o.mine = s.number
	o.confirm()
	return nil
}

func (o *opening) confirm() {
	if o.certain {
		o.phase = openingDone
		return
	}
	o.phase = openingConfirm
}

func (o *opening) takeConfirm(out outcome) error {
	if out.answer == answerAbsent {
		o.phase = openingDone
		return nil
	}
	return o.restart()
}

// restart forgets what was read and begins anew at the newest anchor.
func (o *opening) restart() error {
	return o.restartBecause(fmt.Errorf("opening the log: it moved on %d times meanwhile", restartsAtMost))
}

func (o *opening) restartBecause(err error) error {
	if o.restarts++; o.restarts > restartsAtMost {
		return err
	}
	if o.resumes { // the log moved on behind this session's end: by others only
		return &FencedError{Epoch: o.state.epoch}
	}
	o.state, o.spans, o.mine = state{}, nil, 0
	o.search()
	return nil
}

func (o *opening) decode(data []byte, at SegmentNumber) (segment, error) {
	s, err := decodeSegment(data)
	if err == nil {
		err = o.checkIdentity(&s, at)
	}
	if err != nil {
		return segment{}, fmt.Errorf("reading segment %d: %w", at, err)
	}
	return s, nil
}

// checkIdentity refuses a segment that was written for another place.
func (o *opening) checkIdentity(s *segment, at SegmentNumber) error {
	if s.stream != o.stream || s.number != at {
		return fmt.Errorf("%w: it says that it is segment %d of stream %s", errMalformed, s.number, s.stream)
	}
	return nil
}

// checkOwner tells whether the log belongs to somebody else: a higher epoch, or this epoch but not just an opening of
// this very session.
func (o *opening) checkOwner(s *segment) error {
	if s.epoch < o.epoch || s.epoch == o.epoch && s.session == o.session && s.kind == segmentOpening {
		return nil
	}
	return &FencedError{Epoch: s.epoch}
}
