package durablestreams

import (
	"fmt"
	"strconv"

	"github.com/streamshift/streamshift/internal/engine"
)

// offsetDigits is the width of a token: the largest int64 has 19 digits. One width for all makes tokens sort as the
// positions do, and one position has one token on every node and at every epoch.
const offsetDigits = 19

// FormatOffset returns the token of a position: its decimal digits, padded with zeros.
func FormatOffset(o engine.Offset) string {
	return fmt.Sprintf("%0*d", offsetDigits, int64(o))
}

// ParseOffset reads a token that [FormatOffset] returned, and nothing else.
func ParseOffset(token string) (engine.Offset, bool) {
	if len(token) != offsetDigits {
		return 0, false
	}
	for _, c := range []byte(token) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(token, 10, 64)
	return engine.Offset(n), err == nil
}
