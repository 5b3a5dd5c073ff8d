package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// errGroupTooLarge tells that a group of an event stream is beyond the limit, or that there is no room for it.
var errGroupTooLarge = errors.New("a group of the event stream is too large")

// freeGroupBytes is how many bytes of a group every event stream may hold without taking room.
const freeGroupBytes = 64 << 10

// control is the payload of a control event, as far as a gateway needs it.
type control struct {
	Offset string `json:"streamNextOffset"`
	Cursor string `json:"streamCursor"`
	Closed bool   `json:"streamClosed"`
}

// groupReader cuts an event stream into groups: everything up to the end of a control event. A client must see a group
// as a whole or not at all: it resumes from the last control event, so a cut in front of one would show it the data
// twice.
type groupReader struct {
	in    *bufio.Reader
	limit int64
	room  *room
	held  int64
	group []byte
}

func newGroupReader(in io.Reader, limit int64, room *room) *groupReader {
	return &groupReader{in: bufio.NewReaderSize(in, 16<<10), limit: limit, room: room}
}

// next returns the bytes of the next group, which hold until next or end is called, and its control event. With an error
// what was read of a group is dropped.
func (g *groupReader) next(ctx context.Context) ([]byte, control, error) {
	g.end()
	var event, data []byte
	for {
		line, err := g.line(ctx)
		if err != nil {
			return nil, control{}, err
		}
		switch {
		case len(line) == 0: // the end of an event
			if string(event) != "control" {
				event, data = nil, nil
				continue
			}
			var c control
			if err := json.Unmarshal(data, &c); err != nil {
				return nil, control{}, fmt.Errorf("reading a control event: %w", err)
			}
			return g.group, c, nil
		case bytes.HasPrefix(line, []byte("event:")):
			event = bytes.TrimPrefix(line[len("event:"):], []byte(" "))
		case string(event) == "control" && bytes.HasPrefix(line, []byte("data:")):
			data = bytes.TrimPrefix(line[len("data:"):], []byte(" "))
		}
	}
}

// line appends the next line to the group and returns it without its end.
func (g *groupReader) line(ctx context.Context) ([]byte, error) {
	start := len(g.group)
	for {
		part, err := g.in.ReadSlice('\n')
		if !g.reserve(ctx, int64(len(g.group)+len(part))) {
			return nil, errGroupTooLarge
		}
		g.group = append(g.group, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return nil, err
		}
		return bytes.TrimSuffix(g.group[start:len(g.group)-1], []byte("\r")), nil
	}
}

// reserve takes room for a group of this size, in steps; it waits for it for a while. What the
// group takes in memory is what is reserved.
func (g *groupReader) reserve(ctx context.Context, size int64) bool {
	switch {
	case size > g.limit:
		return false
	case size <= freeGroupBytes+g.held:
		return true
	}
	step := max(size-freeGroupBytes-g.held, (freeGroupBytes+g.held)/2)
	if !g.room.Await(ctx, g.held, step, roomPatience) {
		return false
	}
	g.held += step
	g.group = append(make([]byte, 0, freeGroupBytes+g.held), g.group...)
	return true
}

// end drops the group and gives back its room.
func (g *groupReader) end() {
	g.room.Give(g.held)
	g.held = 0
	if cap(g.group) > freeGroupBytes {
		g.group = nil
	}
	g.group = g.group[:0]
}
