package durablestreams

import (
	"testing"
	"time"
)

func TestNextCursor(t *testing.T) {
	const current = 1000
	now := cursorEpoch.Add(current*cursorInterval + cursorInterval/2)
	least := func(int64) int64 { return 0 }
	most := func(n int64) int64 { return n - 1 }
	for name, tc := range map[string]struct {
		echoed string
		jitter func(int64) int64
		want   int64
	}{
		"no cursor gets the current interval":           {echoed: "", jitter: most, want: current},
		"an older one gets the current interval":        {echoed: "999", jitter: most, want: current},
		"the current one gets the next at least":        {echoed: "1000", jitter: least, want: 1001},
		"the current one gets at most an hour more":     {echoed: "1000", jitter: most, want: 1180},
		"one from the future still rises":               {echoed: "5000", jitter: least, want: 5001},
		"text is no cursor":                             {echoed: "abc", jitter: most, want: current},
		"a negative number is no cursor":                {echoed: "-1", jitter: most, want: current},
		"the largest accepted one rises":                {echoed: "999999999999999999", jitter: most, want: 1_000_000_000_000_000_179},
		"one digit more is no cursor, and cannot wrap":  {echoed: "9223372036854775807", jitter: most, want: current},
		"a cursor that overflows an int64 is no cursor": {echoed: "99999999999999999999", jitter: most, want: current},
	} {
		t.Run(name, func(t *testing.T) {
			if got := nextCursor(now, tc.echoed, tc.jitter); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

func TestCursorNeverGoesBack(t *testing.T) {
	now := cursorEpoch.Add(12345 * time.Second)
	cursor := ""
	var last int64
	for i := range 1000 {
		next := nextCursor(now, cursor, func(n int64) int64 { return int64(i) % n })
		if next <= last {
			t.Fatalf("request %d echoed %q and got %d, which is not above it", i, cursor, next)
		}
		last, cursor = next, formatCursor(next)
	}
}
