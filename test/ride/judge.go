package main

import (
	"fmt"
	"maps"
	"slices"
)

// judge compares what a client has told with what its stream holds, and returns what is wrong, a sentence each.
func (p program) judge(told account, stored []record) []string {
	faults := slices.Clone(told.faults)
	for _, writer := range append(slices.Clone(p.writers), "end") {
		if told.wrote[writer] == 0 {
			faults = append(faults, fmt.Sprintf("%s has not told how much it wrote", writer))
		}
	}
	faults = append(faults, compare("the stream", told.wrote, stored)...)
	for _, reader := range p.readers {
		faults = append(faults, compare(reader, told.wrote, told.read[reader])...)
		if seen := told.read[reader]; len(seen) == len(stored) && !slices.Equal(seen, stored) {
			faults = append(faults, fmt.Sprintf("%s has read the records in another order than the stream has them", reader))
		}
	}
	return faults
}

// compare demands that the records are, of each writer, its numbers from 0 up to what it wrote, each once and in order.
func compare(where string, wrote map[string]int, records []record) []string {
	var faults []string
	next := map[string]int{}
	for _, record := range records {
		want := next[record.Writer]
		switch {
		case record.Number < want:
			faults = append(faults, fmt.Sprintf("%s has record %d of %s behind record %d", where, record.Number, record.Writer, want-1))
			continue
		case record.Number > want:
			faults = append(faults, fmt.Sprintf("%s lacks records %d to %d of %s", where, want, record.Number-1, record.Writer))
		}
		next[record.Writer] = record.Number + 1
	}
	for _, writer := range slices.Sorted(maps.Keys(wrote)) {
		if next[writer] < wrote[writer] {
			faults = append(faults, fmt.Sprintf("%s lacks records %d to %d of %s", where, next[writer], wrote[writer]-1, writer))
		}
	}
	for _, writer := range slices.Sorted(maps.Keys(next)) {
		if next[writer] > wrote[writer] {
			faults = append(faults, fmt.Sprintf("%s has %d records of %s, which wrote %d", where, next[writer], writer, wrote[writer]))
		}
	}
	return faults
}
