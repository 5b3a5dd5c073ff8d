package gateway

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

// FuzzGroups: whatever arrives, and in whatever pieces, the groups are the input's start without a gap, each ends behind
// an event, and nothing stays reserved.
func FuzzGroups(f *testing.F) {
	f.Add([]byte("event: data\ndata:x\n\nevent: control\ndata:{\"streamNextOffset\":\"1\"}\n\n"))
	f.Add([]byte("event: control\r\ndata: {\"streamClosed\":true}\r\n\r\nrest"))
	f.Add([]byte("event: control\ndata:{}\n\nevent: control\ndata:nonsense\n\n"))
	f.Add([]byte(": comment\n\n\n\nevent:control\ndata:{}\n\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		room := newRoom(4<<20, time.Second, time.Now, func() {})
		whole := newGroupReader(bytes.NewReader(input), 1<<20, room)
		pieces := newGroupReader(iotest.OneByteReader(bytes.NewReader(input)), 1<<20, room)
		rest := input
		for {
			group, c, err := whole.next(t.Context())
			again, cAgain, errAgain := pieces.next(t.Context())
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

// largeGroup is an event stream of one group with so many bytes of data.
func largeGroup(size int) *bytes.Reader {
	return bytes.NewReader(append(bytes.Repeat([]byte{'x'}, size), "\nevent: control\ndata:{}\n\n"...))
}

func TestGroupsTakeTheirRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := newRoom(200_000, time.Hour, time.Now, func() { t.Error("somebody was cut off who does not stall") })
		g := newGroupReader(largeGroup(150_000), 1<<20, room)
		if group, _, err := g.next(t.Context()); err != nil || len(group) < 150_000 || room.Used() == 0 {
			t.Errorf("a group within the room: %d bytes, %v, %d of the room", len(group), err, room.Used())
		}
		if _, _, err := newGroupReader(largeGroup(150_000), 1<<20, room).next(t.Context()); !errors.Is(err, errGroupTooLarge) {
			t.Errorf("with the room taken: %v, want errGroupTooLarge", err)
		}
		g.end()
		if room.Used() != 0 {
			t.Errorf("%d bytes stay reserved", room.Used())
		}
	})
}

// Many begin at once: whoever has begun comes to an end, although they do not all fit.
func TestGroupsDoNotStopEachOther(t *testing.T) {
	room := newRoom(1<<20, time.Hour, time.Now, func() { t.Error("somebody was cut off who does not stall") })
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			g := newGroupReader(iotest.HalfReader(largeGroup(200_000)), 1<<20, room)
			defer g.end()
			if _, _, err := g.next(t.Context()); err != nil {
				t.Errorf("a group ends with %v, want it whole", err)
			}
		})
	}
	all.Wait()
}

func TestRoomOfWhoStalls(t *testing.T) {
	tests := map[string]struct {
		// sending is what is being sent to clients, in bytes held, and waited for how long each has.
		sending []int64
		waited  time.Duration
		wantCut int
	}{
		"nobody is sent anything":             {},
		"who stalls makes room":               {sending: []int64{100}, waited: 2 * time.Second, wantCut: 1},
		"all who stall do":                    {sending: []int64{50, 50}, waited: 2 * time.Second, wantCut: 2},
		"who holds nothing would make none":   {sending: []int64{0, 0}, waited: time.Hour},
		"who has just begun is cut off later": {sending: []int64{100}, waited: 0, wantCut: 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cut := 0
				room := newRoom(100, 2*time.Second, time.Now, func() { cut++ })
				var held int64
				for _, n := range tt.sending {
					held += n
					done := func() {}
					done = room.Sending(n, func() {
						go func() { // the write fails, and gives its room back
							done()
							room.Give(n)
						}()
					})
				}
				room.Take(100)
				time.Sleep(tt.waited) //nolint:forbidigo // by the bubble's clock
				got := room.Await(t.Context(), 1, 40, 3*time.Second)
				synctest.Wait()
				if want := held > 0; got != want {
					t.Errorf("Await = %t, want %t", got, want)
				}
				if cut != tt.wantCut {
					t.Errorf("%d clients were cut off, want %d", cut, tt.wantCut)
				}
			})
		})
	}
}
