package load

import "time"

// Tally is what became of the records of a run.
type Tally struct {
	// Appended counts records whose append was acknowledged.
	Appended int
	// Read counts the records that all readers along have seen, the same one once for each of them.
	Read int
	// Lost counts records that were acknowledged and are not in the stream, or are in the stream and were not shown to a reader along.
	Lost int
	// Duplicated counts copies beyond the first, in the stream or at a reader along.
	Duplicated int
	// Reordered counts records that stand in the stream, or came to a reader, behind one that they must precede: an acknowledged
	// record precedes every one that was sent after its acknowledgement.
	Reordered int
	// Foreign counts records in the stream that nobody of this run has sent.
	Foreign int
	// Failed counts requests that were not answered with success.
	Failed int
}

// Clean tells whether nothing went wrong.
func (t Tally) Clean() bool {
	return t.Lost == 0 && t.Duplicated == 0 && t.Reordered == 0 && t.Foreign == 0 && t.Failed == 0
}

// Add sums up the tallies of several streams.
func (t *Tally) Add(other Tally) {
	t.Appended += other.Appended
	t.Read += other.Read
	t.Lost += other.Lost
	t.Duplicated += other.Duplicated
	t.Reordered += other.Reordered
	t.Foreign += other.Foreign
	t.Failed += other.Failed
}

// identity of a record, without its padding.
type identity struct {
	writer string
	number int
}

func (r record) identity() identity { return identity{r.Writer, r.Number} }

// judge compares what writers were told with what the stream holds, in its order.
func judge(attempts []attempt, stored []record) Tally {
	tally := Tally{}
	copies := map[identity]int{}
	for _, record := range stored {
		copies[record.identity()]++
	}
	sent := make(map[identity]attempt, len(attempts))
	for _, attempt := range attempts {
		sent[attempt.record.identity()] = attempt
		if attempt.acknowledged.IsZero() {
			continue
		}
		tally.Appended++
		if copies[attempt.record.identity()] == 0 {
			tally.Lost++
		}
	}
	for identity, count := range copies {
		if _, known := sent[identity]; !known {
			tally.Foreign += count
			continue
		}
		tally.Duplicated += count - 1
	}
	tally.Reordered = reordered(stored, sent)
	return tally
}

// reordered counts the records behind one that was sent after they had been acknowledged. Only the first copy of a record is
// looked at: a later one is a duplicate and counted as such.
func reordered(stored []record, sent map[identity]attempt) int {
	count := 0
	seen := map[identity]bool{}
	var latest time.Time // the latest moment at which one of the records so far was sent
	for _, record := range stored {
		attempt, known := sent[record.identity()]
		if !known || seen[record.identity()] {
			continue
		}
		seen[record.identity()] = true
		if !attempt.acknowledged.IsZero() && attempt.acknowledged.Before(latest) {
			count++
		}
		if attempt.sent.After(latest) {
			latest = attempt.sent
		}
	}
	return count
}

// compareReader adds what a reader along saw differently from what the stream holds.
func (t *Tally) compareReader(stored, seen []record) {
	t.Read += len(seen)
	position := make(map[identity]int, len(stored)) // of the first copy in the stream
	for i, record := range stored {
		if _, known := position[record.identity()]; !known {
			position[record.identity()] = i
		}
	}
	shown := make(map[identity]int, len(seen))
	last := -1
	for _, record := range seen {
		identity := record.identity()
		at, known := position[identity]
		if !known {
			t.Foreign++
			continue
		}
		shown[identity]++
		if shown[identity] > 1 {
			continue
		}
		if at < last {
			t.Reordered++
		}
		last = max(last, at)
	}
	copies := map[identity]int{}
	for _, record := range stored {
		copies[record.identity()]++
	}
	for identity, count := range copies {
		switch {
		case shown[identity] < count:
			t.Lost += count - shown[identity]
		case shown[identity] > count:
			t.Duplicated += shown[identity] - count
		}
	}
}
