package engine

import "fmt"

// Keys sort by number: 20 digits hold every int64. The names of checkpoints and chunks hold the session that wrote them
// and what they cover, and no session covers the same twice, so a name never stands for two things.

func segmentKey(stream string, n SegmentNumber) string {
	return fmt.Sprintf("%s/log/%020d", stream, n)
}

func checkpointName(ref reference) string {
	return fmt.Sprintf("checkpoint/%020d-%s", ref.covers, ref.session)
}

func chunkName(c *chunkRef) string {
	return fmt.Sprintf("chunk/%020d-%d-%s", c.covers, c.part, c.session)
}

func objectKey(stream, name string) string { return stream + "/" + name }
