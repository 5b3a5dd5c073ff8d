package placement

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestPace(t *testing.T) {
	start := time.Unix(1000, 0)
	second := func(n int) time.Time { return start.Add(time.Duration(n) * time.Second) }
	const fast, slow = 10 * time.Millisecond, time.Second
	pace := Pace{First: 2, Limit: 8, Slow: 250 * time.Millisecond}
	expect := func(want int, sentence string) {
		t.Helper()
		if got := pace.Share("a"); got != want {
			t.Errorf("%s: %d at the same time, want %d", sentence, got, want)
		}
	}
	expect(2, "a node starts with few")
	for range 2 {
		pace.Feel("a", second(0), fast, second(1))
	}
	expect(4, "twice as many once as many have passed")
	for range 20 {
		pace.Feel("a", second(0), fast, second(1))
	}
	expect(8, "and no more than the limit")
	pace.Feel("a", second(1), slow, second(2))
	expect(4, "one that keeps requests waiting gets half")
	pace.Feel("a", second(1), slow, second(3))
	expect(4, "what was accepted before the cut tells nothing of the pace after it")
	for range 3 {
		pace.Feel("a", second(3), slow, second(4))
	}
	expect(2, "what was accepted after it does, once")
	pace.Feel("a", second(5), slow, second(6))
	pace.Feel("a", second(7), slow, second(8))
	expect(1, "one at a time goes on always")
	for i := range 60 {
		pace.Feel("a", second(9+i), fast, second(9+i))
	}
	expect(8, "it recovers")
	pace.Feel("a", second(70), slow, second(71))
	pace.Feel("a", second(72), fast, second(72))
	expect(4, "once cut it grows by one in the time of one, not twofold")
	if pace.Share("b") != 2 {
		t.Errorf("another node is slowed, too: %d", pace.Share("b"))
	}
}

func TestPaceForgetsNodesThatAreGone(t *testing.T) {
	pace := Pace{First: 8, Limit: 8, Slow: time.Millisecond}
	for _, node := range []string{"a", "b"} {
		pace.Feel(node, time.Unix(1, 0), time.Second, time.Unix(2, 0))
	}
	pace.Keep(map[string]bool{"b": true})
	if a, b := pace.Share("a"), pace.Share("b"); a != 8 || b != 4 {
		t.Errorf("a may have %d, b %d; want 8 for the one that is new, 4 for the one that was kept", a, b)
	}
}

func TestPaceThatFeelsNothing(t *testing.T) {
	pace := Pace{First: 2, Limit: 8}
	pace.Feel("a", time.Unix(1, 0), time.Hour, time.Unix(2, 0))
	if got := pace.Share("a"); got != 8 {
		t.Errorf("without a longest wait %d at the same time, want the limit", got)
	}
}

func TestPaceStaysWithinItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pace := Pace{First: rapid.IntRange(1, 64).Draw(t, "first"), Limit: rapid.IntRange(1, 64).Draw(t, "limit"), Slow: time.Millisecond}
		now := time.Unix(1000, 0)
		for _, waited := range rapid.SliceOf(rapid.Int64Range(0, int64(2*time.Millisecond))).Draw(t, "waits") {
			now = now.Add(time.Second)
			pace.Feel("a", now.Add(-time.Millisecond), time.Duration(waited), now)
			if share := pace.Share("a"); share < 1 || share > pace.Limit {
				t.Fatalf("share %d, limit %d", share, pace.Limit)
			}
		}
	})
}
