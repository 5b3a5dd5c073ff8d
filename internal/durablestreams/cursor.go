package durablestreams

import (
	"strconv"
	"time"
)

// Cursors keep shared caches from serving one answer of a live read for ever (protocol, section 8.1): time is cut into
// intervals, the cursor is the interval's number, and a client that echoes the current one gets a later one.
const (
	cursorInterval = 20 * time.Second
	// cursorMaxJitter bounds how far a cursor is moved ahead of the one a client brought.
	cursorMaxJitter = time.Hour
	// cursorMaxDigits bounds a cursor that is accepted. Anything longer is no cursor of ours.
	cursorMaxDigits = 18
)

// cursorEpoch is where intervals are counted from, fixed by the protocol.
var cursorEpoch = time.Date(2024, time.October, 9, 0, 0, 0, 0, time.UTC)

// nextCursor returns the cursor for an answer at now to a client that brought echoed ("" or anything that is no
// number: none). It is never below the current interval, and always above echoed. jitter(n) returns a random number in
// [0, n).
func nextCursor(now time.Time, echoed string, jitter func(n int64) int64) int64 {
	current := int64(now.Sub(cursorEpoch) / cursorInterval)
	client, ok := parseDecimal(echoed)
	if !ok || len(echoed) > cursorMaxDigits || client < current {
		return current
	}
	steps := int64(cursorMaxJitter / cursorInterval)
	return client + 1 + jitter(steps)
}

func formatCursor(cursor int64) string { return strconv.FormatInt(cursor, 10) }
