package solo_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/streamshift/streamshift/test/solo"
)

var (
	kills = flag.Int("kills", 15, "how often the server is killed")
	seed  = flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the moments of the kills and the sizes of the records") // #nosec G115 -- any number
)

const (
	// killStreams are appended to by killWriters each: half of them idempotent producers, who repeat, half plain ones, who do not.
	killStreams, killWriters = 4, 4
	// killAcks bounds how many appends are acknowledged between a start and a kill, killDelay what passes after the last of
	// them: some three writes of an object, so that a kill hits every part of one.
	killAcks  = 200
	killDelay = 5 * time.Millisecond
	// killPatience bounds the wait for those appends: streams that do not open again end the test.
	killPatience = time.Minute
)

// TestNoAcknowledgedAppendIsLostAtAKill kills the server at random moments while writers append, and starts the next one at the
// next epoch. In the end every record that was acknowledged is there, once and in its writer's order. (The machine goes on: a kill
// loses what the process holds, not what the kernel does.)
func TestNoAcknowledgedAppendIsLostAtAKill(t *testing.T) {
	t.Logf("seed %d", *seed)
	random := rand.New(rand.NewPCG(*seed, 0)) // #nosec G404 -- reproducible on purpose
	program, err := solo.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	options := solo.Options{Program: program, Store: "file://" + t.TempDir(), Args: []string{"-checkpoint-segments", "16"}}
	next := func() *solo.Server {
		options.Epoch++
		server, err := solo.Start(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		return server
	}
	fleet := newFleet(killStreams, killWriters, random.Uint64())
	stop := fleet.start(t.Context())
	defer stop()
	for range *kills {
		server := next()
		fleet.pointTo(server.URL)
		if err := fleet.awaitAcks(t.Context(), random.IntN(killAcks+1), killPatience); err != nil {
			server.Kill()
			t.Fatal(err)
		}
		<-time.After(time.Duration(random.Int64N(int64(killDelay)))) // the moment
		server.Kill()
	}
	server := next()
	defer server.Kill()
	fleet.pointTo(server.URL)
	stop()
	var total tally
	for i := range killStreams {
		got, err := readJSON(t.Context(), streamURL(server.URL, i))
		if err != nil {
			t.Fatal(err)
		}
		tally, faults := judge(fleet.writersOf(i), got)
		total.add(tally)
		if len(faults) > 0 {
			t.Errorf("stream %d: %d faults: %v", i, len(faults), faults[:min(len(faults), 20)])
		}
	}
	t.Logf("%d kills: %d records acknowledged, all there once and in order; %d of unknown outcome, of which %d are there",
		*kills, total.acked, total.unknown, total.unknownThere)
	if total.acked == 0 || *kills > 10 && total.unknown == 0 {
		t.Errorf("the kills hit nothing: %+v", total)
	}
}

// tally counts what became of records.
type tally struct{ acked, unknown, unknownThere int }

func (a *tally) add(b tally) {
	a.acked += b.acked
	a.unknown += b.unknown
	a.unknownThere += b.unknownThere
}

// judge compares what writers were told with what a stream holds, and returns a sentence for each fault.
func judge(writers []*writer, got []record) (tally, []string) {
	var t tally
	var faults []string
	byWriter := map[string][]int{}
	for _, r := range got {
		byWriter[r.Writer] = append(byWriter[r.Writer], r.Number)
	}
	for _, w := range writers {
		numbers := byWriter[w.name]
		delete(byWriter, w.name)
		if !slices.IsSorted(numbers) {
			faults = append(faults, fmt.Sprintf("the records of %s are out of order", w.name))
		}
		times := map[int]int{}
		for _, n := range numbers {
			times[n]++
		}
		for n, sent := range w.sent {
			switch {
			case sent == acked && times[n] != 1:
				faults = append(faults, fmt.Sprintf("record %d of %s was acknowledged and is there %d times", n, w.name, times[n]))
			case times[n] > 1:
				faults = append(faults, fmt.Sprintf("record %d of %s is there %d times", n, w.name, times[n]))
			case sent == acked:
				t.acked++
			default:
				t.unknown++
				t.unknownThere += times[n]
			}
			delete(times, n)
		}
		for n := range times {
			faults = append(faults, fmt.Sprintf("record %d of %s was never sent", n, w.name))
		}
	}
	for name := range byWriter {
		faults = append(faults, fmt.Sprintf("there is a record of an unknown writer %s", name))
	}
	return t, faults
}

func TestTheJudgeOfKillsFindsFaults(t *testing.T) {
	tests := map[string]struct {
		sent       []fate
		got        []int
		wantFaults int
		want       tally
	}{
		"all there":                             {[]fate{acked, acked}, []int{0, 1}, 0, tally{acked: 2}},
		"a lost one":                            {[]fate{acked, acked}, []int{1}, 1, tally{acked: 1}},
		"a doubled one":                         {[]fate{acked}, []int{0, 0}, 1, tally{}},
		"order turned":                          {[]fate{acked, acked}, []int{1, 0}, 1, tally{acked: 2}},
		"an unknown one may be there":           {[]fate{unknown}, []int{0}, 0, tally{unknown: 1, unknownThere: 1}},
		"an unknown one may be missing":         {[]fate{unknown}, nil, 0, tally{unknown: 1}},
		"an unknown one may not be there twice": {[]fate{unknown}, []int{0, 0}, 1, tally{}},
		"one that nobody sent":                  {nil, []int{0}, 1, tally{}},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			var got []record
			for _, n := range test.got {
				got = append(got, record{Writer: "w", Number: n})
			}
			tally, faults := judge([]*writer{{name: "w", sent: test.sent}}, got)
			if len(faults) != test.wantFaults || tally != test.want {
				t.Errorf("%+v and %d faults, want %+v and %d: %v", tally, len(faults), test.want, test.wantFaults, faults)
			}
		})
	}
}

// fleet is all writers, and where they find the server.
type fleet struct {
	writers []*writer // those of stream 0 first

	mu      sync.Mutex
	url     string
	acks    int
	changed chan struct{}
}

func newFleet(streams, each int, seed uint64) *fleet {
	f := &fleet{changed: make(chan struct{})}
	for i := range streams * each {
		kind := plain
		if i%2 == 0 {
			kind = producer
		}
		f.writers = append(f.writers, &writer{
			fleet: f, name: fmt.Sprintf("w%d", i), stream: i / each, kind: kind,
			random: rand.New(rand.NewPCG(seed, uint64(i))), // #nosec G404 G115 -- reproducible on purpose
		})
	}
	return f
}

func (f *fleet) writersOf(stream int) []*writer {
	var found []*writer
	for _, w := range f.writers {
		if w.stream == stream {
			found = append(found, w)
		}
	}
	return found
}

// start has the writers append until the function that it returns is called, which waits for their last answers.
func (f *fleet) start(ctx context.Context) (stop func()) {
	last := make(chan struct{})
	var all sync.WaitGroup
	for _, w := range f.writers {
		all.Go(func() { w.run(ctx, last) })
	}
	return sync.OnceFunc(func() {
		close(last)
		all.Wait()
	})
}

// pointTo tells the writers where the server is now.
func (f *fleet) pointTo(url string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.url = url
	f.tell()
}

func (f *fleet) acknowledged() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.acks++
	f.tell()
}

func (f *fleet) tell() {
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *fleet) look() (url string, acks int, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.url, f.acks, f.changed
}

// awaitAcks waits until so many more appends are acknowledged.
func (f *fleet) awaitAcks(ctx context.Context, more int, patience time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, before, _ := f.look()
	for {
		_, acks, changed := f.look()
		if acks >= before+more {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %d appends to be acknowledged, %d were: %w", more, acks-before, ctx.Err())
		}
	}
}
