package engine

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAppendsAreJudged tells what each append of a story is answered, in order, by one session.
func TestAppendsAreJudged(t *testing.T) {
	p := func(id string, epoch, seq int64) *Producer { return &Producer{ID: id, Epoch: epoch, Seq: seq} }
	type say struct {
		what    string
		append  Append
		want    Appended
		wantErr error
	}
	for name, story := range map[string][]say{
		"a stream is created once": {
			{"before it is created", Append{Messages: messages("x")}, Appended{}, ErrNotCreated},
			{"creating", Append{Create: true, Messages: messages("ab")}, Appended{Next: 2}, nil},
			{"creating again", Append{Create: true, Messages: messages("cd")}, Appended{Next: 2, Duplicate: true}, nil},
		},
		"a stream is created closed": {
			{"creating", Append{Create: true, CloseStream: true, Messages: messages("ab")}, Appended{Next: 2, StreamClosed: true}, nil},
			{"creating again", Append{Create: true}, Appended{Next: 2, Duplicate: true, StreamClosed: true}, nil},
			{"appending", Append{Messages: messages("x")}, Appended{}, &StreamClosedError{Tail: 2}},
		},
		"a producer counts": {
			{"creating", Append{Create: true}, Appended{}, nil},
			{"a new producer skips", Append{Messages: messages("x"), Producer: p("p", 0, 1)}, Appended{}, &ProducerError{Fault: ProducerSeqGap, ReceivedSeq: 1}},
			{"first", Append{Messages: messages("a"), Producer: p("p", 0, 0)}, Appended{Next: 1}, nil},
			{"first again", Append{Messages: messages("a"), Producer: p("p", 0, 0)}, Appended{Next: 1, Duplicate: true}, nil},
			{"second", Append{Messages: messages("b"), Producer: p("p", 0, 1)}, Appended{Next: 2, LastSeq: 1}, nil},
			{"first once more", Append{Messages: messages("a"), Producer: p("p", 0, 0)}, Appended{Next: 2, Duplicate: true, LastSeq: 1}, nil},
			{"a gap", Append{Messages: messages("x"), Producer: p("p", 0, 3)}, Appended{}, &ProducerError{Fault: ProducerSeqGap, ExpectedSeq: 2, ReceivedSeq: 3}},
			{"another producer", Append{Messages: messages("c"), Producer: p("q", 5, 0)}, Appended{Next: 3}, nil},
			{"a new epoch in its middle", Append{Messages: messages("x"), Producer: p("p", 1, 2)}, Appended{}, &ProducerError{Fault: ProducerEpochStart, ReceivedSeq: 2}},
			{"a new epoch", Append{Messages: messages("d"), Producer: p("p", 1, 0)}, Appended{Next: 4}, nil},
			{"the old epoch", Append{Messages: messages("x"), Producer: p("p", 0, 2)}, Appended{}, &ProducerError{Fault: StaleProducerEpoch, CurrentEpoch: 1, ReceivedSeq: 2}},
		},
		"a sequence rises": {
			{"creating", Append{Create: true}, Appended{}, nil},
			{"b", Append{Messages: messages("x"), Seq: "b"}, Appended{Next: 1}, nil},
			{"b again", Append{Messages: messages("x"), Seq: "b"}, Appended{}, ErrSeqNotRising},
			{"a", Append{Messages: messages("x"), Seq: "a"}, Appended{}, ErrSeqNotRising},
			{"none", Append{Messages: messages("x")}, Appended{Next: 2}, nil},
			{"ba", Append{Messages: messages("x"), Seq: "ba"}, Appended{Next: 3}, nil},
		},
		"a producer is looked at before the sequence": {
			{"creating", Append{Create: true}, Appended{}, nil},
			{"first", Append{Messages: messages("x"), Producer: p("p", 0, 0), Seq: "b"}, Appended{Next: 1}, nil},
			{"first again", Append{Messages: messages("x"), Producer: p("p", 0, 0), Seq: "b"}, Appended{Next: 1, Duplicate: true}, nil},
			{"a gap with an old sequence", Append{Messages: messages("x"), Producer: p("p", 0, 7), Seq: "a"}, Appended{}, &ProducerError{Fault: ProducerSeqGap, ExpectedSeq: 1, ReceivedSeq: 7}},
		},
		"a producer closes the stream": {
			{"creating", Append{Create: true}, Appended{}, nil},
			{"closing", Append{Messages: messages("x"), Producer: p("p", 0, 0), CloseStream: true}, Appended{Next: 1, StreamClosed: true}, nil},
			{"closing again", Append{Messages: messages("x"), Producer: p("p", 0, 0), CloseStream: true}, Appended{Next: 1, Duplicate: true, StreamClosed: true}, nil},
			{"closing by another", Append{Producer: p("q", 0, 0), CloseStream: true}, Appended{}, &StreamClosedError{Tail: 1}},
			{"closing by nobody", Append{CloseStream: true}, Appended{Next: 1, Duplicate: true, StreamClosed: true}, nil},
			{"a message and closing by nobody", Append{Messages: messages("x"), CloseStream: true}, Appended{}, &StreamClosedError{Tail: 1}},
			{"the producer's next", Append{Messages: messages("x"), Producer: p("p", 0, 1)}, Appended{}, &StreamClosedError{Tail: 1}},
		},
		"a repeated append is a duplicate after somebody else closed the stream": {
			{"creating", Append{Create: true}, Appended{}, nil},
			{"appending", Append{Messages: messages("x"), Producer: p("p", 0, 0)}, Appended{Next: 1}, nil},
			{"closing", Append{CloseStream: true}, Appended{Next: 1, StreamClosed: true}, nil},
			{"appending again", Append{Messages: messages("x"), Producer: p("p", 0, 0)}, Appended{Next: 1, Duplicate: true, StreamClosed: true}, nil},
			{"of another epoch", Append{Messages: messages("x"), Producer: p("p", 1, 0)}, Appended{}, &StreamClosedError{Tail: 1}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			base := newSimpleStore()
			s := mustOpen(t, base, Config{Epoch: 1})
			var tail SegmentNumber
			for i, line := range story {
				got, err := s.Append(t.Context(), line.append)
				if diff := cmp.Diff(line.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", line.what, diff)
				}
				if !sameError(err, line.wantErr) {
					t.Errorf("%s: %v, want %v", line.what, err, line.wantErr)
				}
				// What a session knows, the next one knows too: with a closing segment, and without.
				if i%2 == 0 {
					tail = mustClose(t, s).Tail
				} else {
					s.Abandon()
				}
				s = mustOpen(t, base, Config{Epoch: Epoch(i + 2), Tail: tail})
			}
		})
	}
}

func sameError(got, want error) bool {
	var gotProducer, wantProducer *ProducerError
	if errors.As(want, &wantProducer) {
		return errors.As(got, &gotProducer) && *gotProducer == *wantProducer
	}
	var gotClosed, wantClosed *StreamClosedError
	if errors.As(want, &wantClosed) {
		return errors.As(got, &gotClosed) && *gotClosed == *wantClosed
	}
	return errors.Is(got, want)
}
