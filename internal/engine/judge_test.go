package engine

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/streamshift/streamshift/internal/engine/store"
)

func TestAClosedStreamLetsOnlyRepetitionsPass(t *testing.T) {
	v := &view{
		life: lifeClosed, tail: 7,
		producer: func(id string) (Producer, bool) {
			p, known := map[string]Producer{
				"closer": {ID: "closer", Epoch: 1, Seq: 3},
				"writer": {ID: "writer", Epoch: 2, Seq: 5},
			}[id]
			return p, known
		},
	}
	by := func(id string, epoch, seq int64) *Producer { return &Producer{ID: id, Epoch: epoch, Seq: seq} }
	for name, tc := range map[string]struct {
		append     Append
		wantRuling ruling
	}{
		"the close again":                               {Append{Producer: by("closer", 1, 3), CloseStream: true}, rulingDuplicate},
		"a close without a producer":                    {Append{CloseStream: true}, rulingDuplicate},
		"a close with a message, without a producer":    {Append{CloseStream: true, Messages: messages("a")}, rulingRefuse},
		"the last append of a producer again":           {Append{Producer: by("writer", 2, 5), Messages: messages("a")}, rulingDuplicate},
		"an earlier append of a producer again":         {Append{Producer: by("writer", 2, 0), Messages: messages("a")}, rulingDuplicate},
		"the next append of a producer":                 {Append{Producer: by("writer", 2, 6), Messages: messages("a")}, rulingRefuse},
		"a repetition of a producer's earlier epoch":    {Append{Producer: by("writer", 1, 0), Messages: messages("a")}, rulingRefuse},
		"the first append of a producer's next epoch":   {Append{Producer: by("writer", 3, 0), Messages: messages("a")}, rulingRefuse},
		"the first append of a producer nobody knows":   {Append{Producer: by("nobody", 0, 0), Messages: messages("a")}, rulingRefuse},
		"another close by the producer that closed":     {Append{Producer: by("closer", 1, 4), CloseStream: true}, rulingRefuse},
		"a close by a producer that did not close":      {Append{Producer: by("writer", 2, 6), CloseStream: true}, rulingRefuse},
		"an append without a producer":                  {Append{Messages: messages("a")}, rulingRefuse},
		"an append without a producer, with a sequence": {Append{Messages: messages("a"), Seq: "9"}, rulingRefuse},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := judge(v, &tc.append)
			if got != tc.wantRuling {
				t.Errorf("ruling %d, want %d", got, tc.wantRuling)
			}
			var closed *StreamClosedError
			if refused := errors.As(err, &closed); refused != (tc.wantRuling == rulingRefuse) {
				t.Errorf("error %v", err)
			} else if refused {
				if diff := cmp.Diff(Offset(7), closed.Tail); diff != "" {
					t.Errorf("tail (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestARepetitionIsADuplicateAfterTheStreamWasClosed(t *testing.T) {
	s, err := store.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	first := mustOpen(t, s, Config{Epoch: 1, Created: true})
	a := Append{Messages: messages("a"), Producer: &Producer{ID: "writer"}}
	mustAppend(t, first, a)
	mustAppend(t, first, Append{CloseStream: true})
	next := mustOpen(t, s, Config{Epoch: 2, Tail: mustClose(t, first).Tail})
	if got := mustAppend(t, next, a); !got.Duplicate || !got.StreamClosed {
		t.Errorf("the repetition in the next session: %+v, want a duplicate of a closed stream", got)
	}
}
