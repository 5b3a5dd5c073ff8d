package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Judge returns what is wrong with a history, given what the stream holds at its end: nothing where all is well.
func Judge(h History, stored []Record) []string {
	places := map[Record]int{}
	var wrong []string
	say := func(format string, arguments ...any) { wrong = append(wrong, fmt.Sprintf(format, arguments...)) }
	for place, record := range stored {
		if first, twice := places[record]; twice {
			say("duplicate: %s is stored at %d and at %d", record, first, place)
			continue
		}
		places[record] = place
	}
	wrong = append(wrong, h.Faults...)
	judgeAppends(h.Appends, places, say)
	judgeOrder(stored, say)
	judgeTimes(h.Appends, places, say)
	judgeReads(h.Reads, stored, say)
	if len(wrong) == 0 { // else the checker would only say again that something is wrong
		judgeLinear(h, places, say)
	}
	return wrong
}

type sayer func(format string, arguments ...any)

// judgeAppends looks at each append by itself.
func judgeAppends(appends []Append, places map[Record]int, say sayer) {
	sent := map[Record]bool{}
	ends := map[string]int64{} // of each writer's last acknowledged append
	for _, a := range appends {
		sent[a.Record] = true
		place, found := places[a.Record]
		switch {
		case a.Outcome == Acknowledged && !found:
			say("loss: %s was acknowledged at %v and is not stored", a.Record, a.Returned)
		case a.Outcome == Refused && found:
			say("refused but stored: %s is stored at %d", a.Record, place)
		case a.Outcome == Acknowledged && a.End != 0 && a.End != int64(place+1)*RecordBytes:
			say("wrong offset: %s was acknowledged up to offset %d and is stored at %d", a.Record, a.End, place)
		}
		if a.Outcome == Acknowledged && a.End != 0 {
			if a.End <= ends[a.Record.Writer] {
				say("offset went back: %s was acknowledged up to offset %d, and one before it up to %d", a.Record, a.End, ends[a.Record.Writer])
			}
			ends[a.Record.Writer] = a.End
		}
	}
	for record := range places {
		if !sent[record] {
			say("made up: %s is stored and nobody appended it", record)
		}
	}
}

// judgeOrder: each writer appends one record after the other.
func judgeOrder(stored []Record, say sayer) {
	last := map[string]int{}
	for place, record := range stored {
		if number, known := last[record.Writer]; known && record.Number < number {
			say("reorder: %s is stored at %d, behind number %d", record, place, number)
		}
		last[record.Writer] = max(last[record.Writer], record.Number)
	}
}

// judgeTimes: what was acknowledged before another append was sent is stored before it.
func judgeTimes(appends []Append, places map[Record]int, say sayer) {
	stored := slices.DeleteFunc(slices.Clone(appends), func(a Append) bool { _, found := places[a.Record]; return !found })
	slices.SortFunc(stored, func(a, b Append) int { return cmp.Compare(places[a.Record], places[b.Record]) })
	var latest Append // of those before, the one sent last
	for i, a := range stored {
		if i > 0 && a.Outcome == Acknowledged && a.Returned < latest.Called {
			say("reorder: %s was acknowledged at %v, before %s was sent at %v, and is stored behind it", a.Record, a.Returned, latest.Record, latest.Called)
		}
		if i == 0 || a.Called > latest.Called {
			latest = a
		}
	}
}

// judgeReads compares each read with what is stored.
func judgeReads(reads []Read, stored []Record, say sayer) {
	for _, r := range reads {
		switch first := r.From / RecordBytes; {
		case r.Next < r.From:
			say("offset went back: %s read from %d and was sent on to %d", r.Reader, r.From, r.Next)
		case r.Next > int64(len(stored))*RecordBytes:
			say("loss: %s read up to %d, and the stream ends at %d", r.Reader, r.Next, len(stored)*RecordBytes)
		case !slices.Equal(r.Records, stored[first:r.Next/RecordBytes]):
			say("read differs: %s read from %d to %d something else than what is stored", r.Reader, r.From, r.Next)
		}
	}
}

// window is how many records are checked for an order at a time: the checker's memory grows with the square. What goes
// wrong between windows, judgeTimes finds.
const window = 1000

// patience bounds the checking of one window.
const patience = 30 * time.Second

// step is what the checker is told of an append or a read: which record it adds, or up to where it read.
type step struct {
	adds bool
	at   int
}

// never is later than every answer.
const never = int64(1) << 62

// judgeLinear asks for one order of all operations, each between its call and its answer, that explains every answer: an
// append adds its record at the end, and a read sees no more than what was added before. That a read sees all of it is not
// promised: a node that was taken over may answer reads for a moment.
func judgeLinear(h History, places map[Record]int, say sayer) {
	windows := map[int][]porcupine.Operation{}
	clients := map[string]int{}
	client := func(name string) int {
		if _, known := clients[name]; !known {
			clients[name] = len(clients)
		}
		return clients[name]
	}
	for _, a := range h.Appends {
		place, found := places[a.Record]
		if !found {
			continue
		}
		answered := never
		if a.Outcome == Acknowledged {
			answered = int64(a.Returned)
		}
		windows[place/window] = append(windows[place/window], porcupine.Operation{
			ClientId: client(a.Record.Writer), Input: step{true, place}, Call: int64(a.Called), Output: nil, Return: answered,
		})
	}
	for _, r := range h.Reads {
		seen := int(r.Next / RecordBytes)
		if seen == 0 {
			continue
		}
		at := (seen - 1) / window
		windows[at] = append(windows[at], porcupine.Operation{
			ClientId: client(r.Reader), Input: step{false, seen}, Call: int64(r.Called), Output: nil, Return: int64(r.Returned),
		})
	}
	for at, operations := range windows {
		model := porcupine.Model{
			Init: func() any { return at * window },
			Step: func(state, input, _ any) (bool, any) {
				length, s := state.(int), input.(step) //nolint:forcetypeassert // made above
				if s.adds {
					return length == s.at, length + 1
				}
				return length >= s.at, length
			},
		}
		if result := porcupine.CheckOperationsTimeout(model, operations, patience); result != porcupine.Ok {
			say("no order explains the answers about records %d to %d: the checker says %s", at*window, (at+1)*window, result)
		}
	}
}
