package engine

import (
	"bytes"
)

// proposalPhase says what a proposal waits for.
type proposalPhase byte

const (
	// proposalCreate writes the segment.
	proposalCreate proposalPhase = iota + 1
	// proposalCompare reads what is at its number instead.
	proposalCompare
	// proposalHole looks whether what it read can have been written into a hole.
	proposalHole
	proposalDone
)

// verdict says what became of a proposal.
type verdict byte

const (
	// verdictWritten: the segment is in the log.
	verdictWritten verdict = iota + 1
	// verdictRefused: another session's segment is at its number, and this one was and will be in the log at no time.
	verdictRefused
	// verdictLost: this session is fenced, and whether the segment was in the log before cannot be told any more.
	verdictLost
)

// proposal brings one segment into the log. Until it is settled it proposes the same bytes at the same number, so it
// never matters how often, or how late, an attempt is applied.
type proposal struct {
	stream  string
	number  SegmentNumber
	anchors SegmentNumber
	data    []byte

	phase   proposalPhase
	verdict verdict
	fencer  Epoch // the epoch of who fenced this session
}

func newProposal(stream string, number SegmentNumber, data []byte, anchors SegmentNumber) *proposal {
	return &proposal{stream: stream, number: number, anchors: anchors, data: data, phase: proposalCreate}
}

func (p *proposal) next() (call, bool) {
	switch p.phase {
	case proposalCreate:
		return call{kind: callCreate, key: segmentKey(p.stream, p.number), data: p.data}, true
	case proposalCompare:
		return call{kind: callGet, key: segmentKey(p.stream, p.number)}, true
	case proposalHole:
		return call{kind: callPeek, key: segmentKey(p.stream, (p.number/p.anchors+1)*p.anchors)}, true
	case proposalDone:
	}
	return call{}, false
}

func (p *proposal) take(out outcome) error {
	if out.answer == answerUnknown {
		return nil
	}
	switch p.phase {
	case proposalCreate:
		if out.answer == answerTaken {
			p.phase = proposalCompare
			return nil
		}
		p.settle(verdictWritten)
	case proposalCompare:
		p.compare(out)
	case proposalHole:
		// Without an anchor behind it nothing at this number was ever deleted: what is there is all that ever was.
		if out.answer == answerAbsent {
			p.settle(verdictRefused)
		} else {
			p.settle(verdictLost)
		}
	case proposalDone:
	}
	return nil
}

func (p *proposal) compare(out outcome) {
	if out.answer == answerAbsent {
		p.settle(verdictLost) // taken a moment ago and gone: the log moved on far, or the stream was removed
		return
	}
	if bytes.Equal(out.data, p.data) {
		p.settle(verdictWritten)
		return
	}
	if s, _, err := decodeHead(out.data); err == nil {
		p.fencer = s.epoch
	}
	p.phase = proposalHole
}

func (p *proposal) settle(v verdict) {
	p.phase, p.verdict = proposalDone, v
}
