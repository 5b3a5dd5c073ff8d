package engine

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAStreamIsInspectedWithoutWriting(t *testing.T) {
	base := newSimpleStore()
	s := mustOpen(t, base, Config{Epoch: 1, Created: true, Limits: Limits{CheckpointSegments: 30, BlockBytes: 100}})
	var want, got []string
	at := Offset(0)
	for i := range anchorEvery + 50 {
		text := fmt.Sprintf("message %d", i)
		want = append(want, fmt.Sprintf("%d %s", at, text))
		at = mustAppend(t, s, Append{Messages: messages(text), Producer: &Producer{ID: "p", Seq: int64(i)}}).Next
		settled(t, s)
	}
	if err := s.Trim(t.Context(), 20); err != nil { // inside the third message
		t.Fatal(err)
	}
	objects := len(base.objects)
	r, err := Inspect(t.Context(), base, "stream-1", func(at Offset, m []byte) error {
		got = append(got, fmt.Sprintf("%d %s", at, m))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want[2:], got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if r.Life != "open" || r.Epoch != 1 || r.Tail != at || r.Start != 20 || r.Messages != len(want)-2 || r.Chunks == 0 || r.Segments == 0 || r.Producers != 1 {
		t.Errorf("report: %+v", r)
	}
	if len(base.objects) != objects {
		t.Errorf("%d objects were written", len(base.objects)-objects)
	}
	for key, data := range base.objects { // whatever is damaged is found, unless nobody needs it any more
		base.objects[key] = append(slices.Clip(data), 0)
		_, damaged := Inspect(t.Context(), base, "stream-1", nil)
		base.objects[key] = data
		if needed := key == segmentKey("stream-1", s.state.number); needed && damaged == nil {
			t.Errorf("damage of %s is not found", key)
		}
	}
	if _, err := Inspect(t.Context(), base, "nothing", nil); err == nil {
		t.Error("a stream without objects is inspected without an error")
	}
}
