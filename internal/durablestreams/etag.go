package durablestreams

import (
	"fmt"
	"strings"

	"github.com/streamshift/streamshift/internal/engine"
)

// etag identifies what a read answers: the stream, the range, and what is known about what follows. The last part
// changes when the stream closes, so that a cached answer cannot hide the end of the stream.
func etag(streamID string, b engine.Batch) string {
	end := "more"
	switch {
	case atEnd(b):
		end = "closed"
	case upToDate(b):
		end = "tail"
	}
	return fmt.Sprintf(`"%s:%d:%d:%s"`, streamID, b.From, b.Next, end)
}

// etagMatches tells whether an If-None-Match header names the tag. The comparison is weak (RFC 9110, 13.1.2).
func etagMatches(ifNoneMatch, tag string) bool {
	for candidate := range strings.SplitSeq(ifNoneMatch, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == tag {
			return true
		}
	}
	return false
}

// upToDate tells that the batch reaches the tail.
func upToDate(b engine.Batch) bool { return b.Next == b.Tail }

// atEnd tells that nothing will ever follow the batch.
func atEnd(b engine.Batch) bool { return b.StreamClosed && upToDate(b) }
