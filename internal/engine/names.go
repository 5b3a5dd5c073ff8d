package engine

import "fmt"

// Keys sort by number: 20 digits hold every int64.

func segmentKey(stream string, n SegmentNumber) string {
	return fmt.Sprintf("%s/log/%020d", stream, n)
}

func checkpointKey(stream string, ref reference) string {
	return fmt.Sprintf("%s/checkpoint/%020d-%s", stream, ref.covers, ref.session)
}
