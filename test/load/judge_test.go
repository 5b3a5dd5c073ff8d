package load

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var origin = time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)

func at(milliseconds int) time.Time {
	return origin.Add(time.Duration(milliseconds) * time.Millisecond)
}

// tried is a record that writer sent at one millisecond and that was acknowledged at another; at 0 it never was.
func tried(writer string, number, sent, acknowledged int) attempt {
	a := attempt{record: record{Writer: writer, Number: number}, sent: at(sent)}
	if acknowledged > 0 {
		a.acknowledged = at(acknowledged)
	}
	return a
}

func written(writer string, numbers ...int) []record {
	var records []record
	for _, number := range numbers {
		records = append(records, record{Writer: writer, Number: number})
	}
	return records
}

func TestJudge(t *testing.T) {
	two := []attempt{tried("a", 0, 1, 2), tried("a", 1, 3, 4)}
	tests := map[string]struct {
		attempts []attempt
		stored   []record
		want     Tally
	}{
		"nothing was tried, and nothing is there": {},
		"everything acknowledged is there, in order": {
			attempts: two, stored: written("a", 0, 1), want: Tally{Appended: 2},
		},
		"an acknowledged record is missing": {
			attempts: two, stored: written("a", 1), want: Tally{Appended: 2, Lost: 1},
		},
		"a record that was not acknowledged may be missing": {
			attempts: []attempt{tried("a", 0, 1, 0)}, want: Tally{},
		},
		"a record that was not acknowledged may be there": {
			attempts: []attempt{tried("a", 0, 1, 0)}, stored: written("a", 0), want: Tally{},
		},
		"a record that was not acknowledged may be there once only": {
			attempts: []attempt{tried("a", 0, 1, 0)}, stored: written("a", 0, 0), want: Tally{Duplicated: 1},
		},
		"each copy beyond the first is a duplicate, wherever it stands": {
			attempts: two, stored: written("a", 0, 1, 0, 1, 1), want: Tally{Appended: 2, Duplicated: 3},
		},
		"records of one writer stand in the wrong order": {
			attempts: two, stored: written("a", 1, 0), want: Tally{Appended: 2, Reordered: 1},
		},
		"a record stands behind another writer's that was sent after its acknowledgement": {
			attempts: []attempt{tried("a", 0, 1, 2), tried("b", 0, 3, 4)},
			stored:   append(written("b", 0), written("a", 0)...),
			want:     Tally{Appended: 2, Reordered: 1},
		},
		"records that were under way at once may stand in any order": {
			attempts: []attempt{tried("a", 0, 1, 3), tried("b", 0, 2, 4)},
			stored:   append(written("b", 0), written("a", 0)...),
			want:     Tally{Appended: 2},
		},
		"a record that nobody sent is foreign": {
			attempts: two, stored: written("a", 0, 1, 2), want: Tally{Appended: 2, Foreign: 1},
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			if difference := cmp.Diff(test.want, judge(test.attempts, test.stored)); difference != "" {
				t.Errorf("tallies differ (-want +got):\n%s", difference)
			}
		})
	}
}

func TestCompareReader(t *testing.T) {
	tests := map[string]struct {
		stored, seen []record
		want         Tally
	}{
		"a reader that saw the stream as it is": {
			stored: written("a", 0, 1, 2), seen: written("a", 0, 1, 2), want: Tally{Read: 3},
		},
		"a reader that was not shown a record": {
			stored: written("a", 0, 1, 2), seen: written("a", 0, 2), want: Tally{Read: 2, Lost: 1},
		},
		"a reader that was shown a record twice": {
			stored: written("a", 0, 1), seen: written("a", 0, 0, 1), want: Tally{Read: 3, Duplicated: 1},
		},
		"a reader that was shown records in another order": {
			stored: written("a", 0, 1), seen: written("a", 1, 0), want: Tally{Read: 2, Reordered: 1},
		},
		"a reader that was shown a record that is not in the stream": {
			stored: written("a", 0), seen: written("a", 0, 7), want: Tally{Read: 2, Foreign: 1},
		},
		"a copy in the stream is the stream's fault, not the reader's": {
			stored: written("a", 0, 0), seen: written("a", 0, 0), want: Tally{Read: 2},
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			var got Tally
			got.compareReader(test.stored, test.seen)
			if difference := cmp.Diff(test.want, got); difference != "" {
				t.Errorf("tallies differ (-want +got):\n%s", difference)
			}
		})
	}
}

func TestLongestGap(t *testing.T) {
	moments := []time.Time{at(0), at(10), at(50), at(60), at(160)}
	tests := map[string]struct {
		from, to int
		want     Gap
		wantNone bool
	}{
		"the gap around a moment":                      {from: 30, to: 30, want: Gap{at(10), at(50)}},
		"the longest of several":                       {from: 5, to: 55, want: Gap{at(10), at(50)}},
		"a gap that only begins within the time":       {from: 55, to: 70, want: Gap{at(60), at(160)}},
		"no append was acknowledged after the time":    {from: 30, to: 161, wantNone: true},
		"no append was acknowledged before the time":   {from: -1, to: 30, wantNone: true},
		"the time may reach to the last one":           {from: 0, to: 160, want: Gap{at(60), at(160)}},
		"a gap that ends where the time begins is not": {from: 50, to: 55, want: Gap{at(50), at(60)}},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			got, ok := longestGap(moments, at(test.from), at(test.to))
			if ok == test.wantNone {
				t.Fatalf("found %v, want %v", ok, !test.wantNone)
			}
			if difference := cmp.Diff(test.want, got); difference != "" {
				t.Errorf("gaps differ (-want +got):\n%s", difference)
			}
		})
	}
}
