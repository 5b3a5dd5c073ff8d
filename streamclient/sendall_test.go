package streamclient_test

import (
	"errors"
	"testing"

	"github.com/streamshift/streamshift/streamclient"
)

// What is sent together is stored in order, in several batches too, although answers are lost; and it goes out together.
func TestSendAll(t *testing.T) {
	f, s := newFaulty(t, "application/json", streamclient.Options{})
	f.faults.Store(&faults{lose: func(n int64) bool { return n%2 == 1 }})
	p := s.Producer(streamclient.ProducerOptions{ID: "p", ContentType: "application/json", BatchBytes: 10})
	var contents [][]byte
	for _, value := range []string{"1", "[2]", `"three"`, "4", "5", "6"} {
		contents = append(contents, []byte(value))
	}
	next, err := p.SendAll(t.Context(), contents...)
	if err != nil {
		t.Fatalf("SendAll: %v", err)
	}
	if end, err := p.SendAll(t.Context()); err != nil || end != "" {
		t.Errorf("SendAll of nothing = %q, %v", end, err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := p.SendAll(t.Context(), []byte("7")); !errors.Is(err, streamclient.ErrProducerEnded) {
		t.Errorf("SendAll after Close: %v, want ErrProducerEnded", err)
	}
	if requests := f.count.Load(); requests > 6 {
		t.Errorf("%d requests, though three batches were lost at most once each", requests)
	}
	f.faults.Store(&faults{})
	chunk, err := s.Read(t.Context(), streamclient.Beginning)
	if want := `[1,[2],"three",4,5,6]`; err != nil || string(chunk.Data) != want || chunk.Next != next {
		t.Errorf("the stream holds %s up to %s, %v; want %s up to %s", chunk.Data, chunk.Next, err, want, next)
	}
}
