package engine

import (
	"strings"
)

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
	// A session that closed goes on without an opening segment behind its closing one.
	resumesAnyhow mutant = "a closed session goes on without an opening"
)

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
	case asDesigned, withoutConfirming, openingsDeleted, sweptBeforeAnchor, anchorsDeleted, unknownIsNext, resumesAnyhow:
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
