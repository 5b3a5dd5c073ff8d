package gateway

import (
	"bytes"
	"errors"
	"testing"
	"testing/iotest"
	"time"

	"github.com/streamshift/streamshift/internal/durablestreams"
)

// FuzzGroups: whatever arrives, and in whatever pieces, the groups are the input's start without a gap, each ends behind
// an event, and nothing stays reserved.
func FuzzGroups(f *testing.F) {
	f.Add([]byte("event: data\ndata:x\n\nevent: control\ndata:{\"streamNextOffset\":\"1\"}\n\n"))
	f.Add([]byte("event: control\r\ndata: {\"streamClosed\":true}\r\n\r\nrest"))
	f.Add([]byte("event: control\ndata:{}\n\nevent: control\ndata:nonsense\n\n"))
	f.Add([]byte(": comment\n\n\n\nevent:control\ndata:{}\n\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		room := durablestreams.NewBodies(1<<20, 1<<20, time.Second, time.Now)
		whole := newGroupReader(bytes.NewReader(input), 1<<20, room)
		pieces := newGroupReader(iotest.OneByteReader(bytes.NewReader(input)), 1<<20, room)
		rest := input
		for {
			group, c, err := whole.next()
			again, cAgain, errAgain := pieces.next()
			if !bytes.Equal(group, again) || c != cAgain || (err == nil) != (errAgain == nil) {
				t.Fatalf("in one piece: %q %+v %v; byte by byte: %q %+v %v", group, c, err, again, cAgain, errAgain)
			}
			if err != nil {
				break
			}
			if !bytes.HasPrefix(rest, group) {
				t.Fatalf("the group %q is not what comes next in %q", group, rest)
			}
			if !bytes.HasSuffix(group, []byte("\n\n")) && !bytes.HasSuffix(group, []byte("\n\r\n")) {
				t.Fatalf("the group %q does not end behind an event", group)
			}
			rest = rest[len(group):]
		}
		whole.end()
		pieces.end()
		if room.Used() != 0 {
			t.Fatalf("%d bytes stay reserved", room.Used())
		}
	})
}

func TestGroupsTakeTheirRoom(t *testing.T) {
	room := durablestreams.NewBodies(0, 100_000, time.Second, time.Now)
	input := func(size int) *bytes.Reader {
		return bytes.NewReader(append(bytes.Repeat([]byte{'x'}, size), "\nevent: control\ndata:{}\n\n"...))
	}
	g := newGroupReader(input(120_000), 1<<20, room)
	if group, _, err := g.next(); err != nil || len(group) < 120_000 || room.Used() == 0 {
		t.Errorf("a group within the room: %d bytes, %v, %d of the room", len(group), err, room.Used())
	}
	if _, _, err := newGroupReader(input(120_000), 1<<20, room).next(); !errors.Is(err, errGroupTooLarge) {
		t.Errorf("with the room taken: %v, want errGroupTooLarge", err)
	}
	g.end()
	if room.Used() != 0 {
		t.Errorf("%d bytes stay reserved", room.Used())
	}
}
