package engine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/streamshift/streamshift/internal/engine/store"
)

var (
	seedFlag  = flag.Uint64("seed", 0, "seed of the random runs; 0 draws from 1 on")
	runsFlag  = flag.Int("runs", 60, "number of random runs")
	stepsFlag = flag.Int("steps", 250, "steps of a random run")
)

// smallLimits make everything happen often: merges after a few segments, blocks and chunks of a few messages.
func smallLimits() Limits {
	return Limits{
		CheckpointSegments: 3, ChunkBytes: 400, BlockBytes: 50, CacheBytes: 2000, Producers: 100,
		RetryAfter: time.Microsecond, RetryAtMost: 10 * time.Microsecond, AnswerWithin: 30 * time.Millisecond, Linger: time.Microsecond,
	}
}

// smallAnchors is the distance of anchors in tests with smallLimits.
const smallAnchors = 4

// record is a message that the model knows of.
type record struct {
	text string
	sure bool // acknowledged; else its outcome is unknown
}

// world is a stupid model of one stream beside the real thing.
type world struct {
	t       *testing.T
	rng     *rand.Rand
	store   *simpleStore
	views   []*faultyStore // of every session that ever was
	faults  int            // of a thousand calls, this many fail
	epoch   Epoch
	tail    SegmentNumber
	current *Session
	zombies []*Session
	records []record
	start   Offset // known to be trimmed
	next    int
	// seqs are the next sequences of the producers, unsure the append of each whose outcome is unknown.
	seqs   map[string]int64
	unsure map[string]Append
	log    []string
}

func (w *world) say(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

func (w *world) fail(format string, args ...any) {
	w.t.Helper()
	for _, line := range w.log[max(0, len(w.log)-60):] {
		w.t.Log(line)
	}
	w.t.Fatalf(format, args...)
}

// view returns a store for one session, with faults of its own.
func (w *world) view() *faultyStore {
	rng, faults := rand.New(rand.NewPCG(w.rng.Uint64(), 0)), w.faults
	v := &faultyStore{Store: w.store, plan: func(int, call) fault {
		if rng.IntN(1000) >= faults {
			return faultNone
		}
		return []fault{faultRefused, faultAnswerLost, faultLate, faultCrash, faultCrashAfter}[rng.IntN(5)]
	}}
	w.views = append(w.views, v)
	return v
}

// reopen opens the stream at the next epoch, again and again until that succeeds.
func (w *world) reopen() {
	for {
		w.epoch++
		cfg := Config{Stream: "s", Epoch: w.epoch, Session: fmt.Sprintf("session-%d", w.epoch), Tail: w.tail, Created: true, Limits: smallLimits()}
		if w.rng.IntN(3) == 0 {
			cfg.Tail = SegmentNumber(w.rng.IntN(int(w.tail) + 3)) // a wrong hint must do no harm
		}
		v := w.view()
		for try := 0; try < 5 && !v.isCrashed(); try++ {
			s, err := open(w.t.Context(), v, cfg, smallAnchors)
			if err == nil {
				w.say("opened epoch %d at segment %d", w.epoch, s.state.number)
				w.current = s
				v.onCrash(s.Abandon)
				w.check(s)
				return
			}
			w.say("opening epoch %d: %v", w.epoch, err)
			if !errors.Is(err, errFault) {
				w.fail("opening epoch %d: %v", w.epoch, err)
			}
		}
	}
}

// check reads everything and compares. What was unsure is known from then on.
func (w *world) check(s *Session) bool {
	var got []string
	for from := s.Info().Start; from < s.Info().Tail; {
		b, err := s.Read(w.t.Context(), from, 1+w.rng.IntN(200))
		if errors.Is(err, errFault) || errors.Is(err, ErrSessionClosed) {
			w.say("reading: %v", err)
			return false
		}
		if err != nil {
			w.fail("reading at %d: %v", from, err)
		}
		for _, m := range b.Messages {
			got = append(got, string(m))
		}
		from = b.Next
	}
	w.compare(got, s.Info().Start)
	return true
}

// compare demands that everything sure is there once and in order, from the first retained position on.
func (w *world) compare(got []string, start Offset) {
	var kept []record
	at, i := Offset(0), 0
	if start < w.start {
		w.fail("the stream starts at %d, but was trimmed to %d", start, w.start)
	}
	for _, r := range w.records {
		end := at + Offset(len(r.text))
		switch {
		case end <= start: // trimmed, and before it everything was settled
		case i < len(got) && got[i] == r.text:
			i++
		case r.sure:
			w.fail("%q is lost: at message %d of %d", r.text, i, len(got))
		default:
			continue // was not applied
		}
		kept = append(kept, record{r.text, true})
		at = end
	}
	if i != len(got) {
		w.fail("message %d is %q, which is not expected there", i, got[i])
	}
	w.records = kept
}

func (w *world) append() {
	a := Append{}
	for range 1 + w.rng.IntN(3) {
		w.next++
		a.Messages = append(a.Messages, []byte(fmt.Sprintf("<%d%s>", w.next, "......................"[:w.rng.IntN(22)])))
	}
	id := fmt.Sprintf("producer-%d", w.rng.IntN(5))
	again := false
	if w.rng.IntN(3) > 0 {
		if before, ok := w.unsure[id]; ok {
			a, again = before, true
		} else {
			a.Producer = &Producer{ID: id, Seq: w.seqs[id]}
		}
	}
	w.submit(a, again)
}

func (w *world) submit(a Append, again bool) {
	got, err := w.current.Append(w.t.Context(), a)
	w.say("appended %s by %v: %+v, %v", a.Messages, a.Producer, got, err)
	var sure bool
	switch {
	case err == nil:
		sure = true
	case errors.Is(err, ErrOutcomeUnknown):
	case errors.Is(err, ErrSessionClosed):
		return // not applied; one that was unsure stays so
	default:
		w.fail("appending: %v", err)
	}
	if a.Producer != nil {
		if sure {
			w.seqs[a.Producer.ID] = a.Producer.Seq + 1
			delete(w.unsure, a.Producer.ID)
		} else {
			w.unsure[a.Producer.ID] = a
		}
	}
	w.note(a, sure, again, got.Duplicate)
}

// note enters an append into the model.
func (w *world) note(a Append, sure, again, duplicate bool) {
	if again && sure {
		first := string(a.Messages[0])
		tried := 0
		for _, r := range w.records {
			if r.text == first {
				tried++
			}
		}
		switch {
		case duplicate && tried == 0:
			w.fail("%q is said to be a duplicate, but was found missing", first)
		case duplicate:
			return // it is where one of the tries put it; which one, reading tells
		}
		for _, m := range a.Messages { // no earlier try was applied
			w.records = slices.DeleteFunc(w.records, func(r record) bool { return r.text == string(m) })
		}
	}
	w.enter(a, sure)
}

func (w *world) enter(a Append, sure bool) {
	for _, m := range a.Messages {
		w.records = append(w.records, record{string(m), sure})
	}
}

func (w *world) step() {
	if w.views[len(w.views)-1].isCrashed() {
		w.say("crashed")
		w.current.Abandon()
	}
	if w.current.Err() != nil {
		w.reopen()
		return
	}
	switch n := w.rng.IntN(100); {
	case n < 70:
		w.append()
	case n < 76:
		w.check(w.current)
	case n < 80:
		w.close()
	case n < 84: // the process ends
		w.current.Abandon()
		w.reopen()
	case n < 88: // it is taken over and does not know
		w.zombies = append(w.zombies, w.current)
		w.reopen()
	case n < 94:
		w.wakeZombie()
	case n < 97:
		for _, v := range w.views {
			v.applyLate()
		}
	default:
		w.trim()
	}
}

func (w *world) close() {
	ctx, cancel := context.WithTimeout(w.t.Context(), 50*time.Millisecond)
	defer cancel()
	c, err := w.current.Close(ctx)
	w.say("closed: %+v, %v", c, err)
	if err == nil {
		w.tail = c.Tail
	} else {
		w.current.Abandon()
	}
	w.reopen()
}

// wakeZombie lets a session that was taken over append: it must not succeed.
func (w *world) wakeZombie() {
	if len(w.zombies) == 0 {
		return
	}
	z := w.zombies[w.rng.IntN(len(w.zombies))]
	w.next++
	text := fmt.Sprintf("<zombie %d>", w.next)
	_, err := z.Append(w.t.Context(), Append{Messages: messages(text)})
	w.say("zombie of epoch %d appends: %v", z.cfg.Epoch, err)
	if err == nil {
		w.fail("a session of epoch %d acknowledged an append after epoch %d was opened", z.cfg.Epoch, w.epoch)
	}
}

func (w *world) trim() {
	if !w.check(w.current) {
		return
	}
	info := w.current.Info()
	to := info.Start + Offset(w.rng.Int64N(int64(info.Tail-info.Start)+1))
	at := Offset(0)
	for _, r := range w.records {
		at += Offset(len(r.text))
		if at >= to {
			break
		}
	}
	err := w.current.Trim(w.t.Context(), min(at, info.Tail))
	w.say("trimmed to %d: %v", at, err)
	if err == nil {
		w.start = min(at, info.Tail)
	}
}

// TestRandomRunsAgreeWithAModel appends, reads, closes, crashes, takes over and trims at random over a store that fails
// in every way, and demands of each new session that everything acknowledged is there, once and in order.
func TestRandomRunsAgreeWithAModel(t *testing.T) {
	first, runs := uint64(1), *runsFlag
	if *seedFlag != 0 {
		first, runs = *seedFlag, 1
	}
	for seed := first; seed < first+uint64(runs); seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := &world{
				t: t, rng: rand.New(rand.NewPCG(seed, 0)), store: newSimpleStore(), faults: int(seed%4) * 15,
				seqs: map[string]int64{}, unsure: map[string]Append{},
			}
			defer func() {
				for _, s := range append(w.zombies, w.current) {
					s.Abandon()
				}
			}()
			w.reopen()
			for range *stepsFlag {
				w.step()
			}
			for _, v := range w.views {
				v.applyLate()
			}
			w.faults = 0
			w.current.Abandon()
			w.reopen()
			if len(w.records) == 0 {
				t.Error("the run appended nothing")
			}
		})
	}
}

var _ store.Store = (*faultyStore)(nil)
