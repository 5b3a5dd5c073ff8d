package main

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// of returns records of one writer.
func of(writer string, numbers ...int) []record {
	var records []record
	for _, number := range numbers {
		records = append(records, record{writer, number})
	}
	return records
}

func TestJudge(t *testing.T) {
	p := program{writers: []string{"plain"}, readers: []string{"sse"}}
	whole := slices.Concat(of("plain", 0, 1, 2), of("end", 0))
	for name, tc := range map[string]struct {
		wrote      map[string]int
		read       []record
		stored     []record
		faults     []string
		wantFaults []string
	}{
		"every record once and in order": {read: whole, stored: whole},
		"what the client has seen fail":  {read: whole, stored: whole, faults: []string{"a 503"}, wantFaults: []string{"a 503"}},
		"a record is lost": {
			read: whole, stored: slices.Concat(of("plain", 0, 2), of("end", 0)),
			wantFaults: []string{"the stream lacks records 1 to 1 of plain"},
		},
		"the last records are lost": {
			read: whole, stored: slices.Concat(of("plain", 0), of("end", 0)),
			wantFaults: []string{"the stream lacks records 1 to 2 of plain"},
		},
		"a record is there twice": {
			read: slices.Concat(of("plain", 0, 1, 1, 2), of("end", 0)), stored: whole,
			wantFaults: []string{"sse has record 1 of plain behind record 1"},
		},
		"two records are the wrong way round": {
			read: slices.Concat(of("plain", 0, 2, 1), of("end", 0)), stored: whole,
			wantFaults: []string{
				"sse lacks records 1 to 1 of plain", "sse has record 1 of plain behind record 2",
				"sse has read the records in another order than the stream has them",
			},
		},
		"more than was written": {
			read: whole, stored: slices.Concat(of("plain", 0, 1, 2, 3), of("end", 0)),
			wantFaults: []string{"the stream has 4 records of plain, which wrote 3"},
		},
		"a reader has read nothing": {
			stored:     whole,
			wantFaults: []string{"sse lacks records 0 to 0 of end", "sse lacks records 0 to 2 of plain"},
		},
		"a writer has told nothing": {
			wrote: map[string]int{"end": 1}, read: of("end", 0), stored: of("end", 0),
			wantFaults: []string{"plain has not told how much it wrote"},
		},
		"another order of two writers": {
			read: slices.Concat(of("end", 0), of("plain", 0, 1, 2)), stored: whole,
			wantFaults: []string{"sse has read the records in another order than the stream has them"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.wrote == nil {
				tc.wrote = map[string]int{"plain": 3, "end": 1}
			}
			got := p.judge(account{wrote: tc.wrote, read: map[string][]record{"sse": tc.read}, faults: tc.faults}, tc.stored)
			if diff := cmp.Diff(tc.wantFaults, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestARiderProgressesWhenEveryReaderGotSomethingOfEveryWriter(t *testing.T) {
	p := program{writers: []string{"producer", "plain"}, readers: []string{"sse", "long-poll"}}
	before := account{read: map[string][]record{"sse": of("plain", 0)}}
	both := slices.Concat(of("plain", 0, 1), of("producer", 0))
	for name, tc := range map[string]struct {
		sse, poll []record
		want      string
	}{
		"nothing new":                       {sse: of("plain", 0), want: "sse to read a record of producer"},
		"new records of one writer only":    {sse: of("plain", 0, 1), poll: both, want: "sse to read a record of producer"},
		"new records at one reader only":    {sse: both, want: "long-poll to read a record of producer"},
		"new records everywhere, of either": {sse: both, poll: both},
	} {
		t.Run(name, func(t *testing.T) {
			now := account{read: map[string][]record{"sse": tc.sse, "long-poll": tc.poll}}
			if got := p.lagging(before, now); got != tc.want {
				t.Errorf("waiting for %q, want %q", got, tc.want)
			}
		})
	}
}
