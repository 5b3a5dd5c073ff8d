package engine

import (
	"strings"

	"github.com/streamshift/streamshift/internal/crashpoint"
)

// passBefore and passAfter are the crash points around a call of the store; nothing, but in builds that have them.
func passBefore(c *call) {
	if crashpoint.Enabled {
		crashpoint.Pass(crashpoint.BeforeCall(c.describe()))
	}
}

func passAfter(c *call) {
	if crashpoint.Enabled {
		crashpoint.Pass(crashpoint.AfterCall(c.describe()))
	}
}

// describe names the call as crash points do: get, delete, or what it creates.
func (c *call) describe() string {
	if c.kind != callCreate {
		return c.kind.String()
	}
	switch {
	case strings.Contains(c.key, "/chunk/"):
		return "create-chunk"
	case strings.Contains(c.key, "/checkpoint/"):
		return "create-checkpoint"
	}
	h, _, err := decodeHead(c.data)
	if err != nil {
		return "create"
	}
	switch h.kind {
	case segmentOpening:
		return "create-opening"
	case segmentEntries:
		return "create-entries"
	case segmentClosing:
		return "create-closing"
	case segmentDeletion:
	}
	return "create"
}
