package history

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// RecordBytes is the length of a record: "w03 0000000017          \n".
const RecordBytes = 24

// Record names one record: the writer, and the writer's own count from 0.
type Record struct {
	Writer string
	Number int
}

// String is "writer/number".
func (r Record) String() string { return r.Writer + "/" + strconv.Itoa(r.Number) }

func (r Record) encode() []byte {
	line := fmt.Appendf(nil, "%s %010d", r.Writer, r.Number)
	return append(append(line, bytes.Repeat([]byte(" "), RecordBytes-1-len(line))...), '\n')
}

// decodeRecords reads whole records.
func decodeRecords(data []byte) ([]Record, error) {
	if len(data)%RecordBytes != 0 {
		return nil, fmt.Errorf("decoding records: %d bytes are no whole number of records", len(data))
	}
	records := make([]Record, 0, len(data)/RecordBytes)
	for ; len(data) > 0; data = data[RecordBytes:] {
		fields := strings.Fields(string(data[:RecordBytes]))
		if len(fields) != 2 || data[RecordBytes-1] != '\n' {
			return nil, fmt.Errorf("decoding records: %q is none", data[:RecordBytes])
		}
		number, err := strconv.Atoi(fields[1])
		if err != nil {
			return nil, fmt.Errorf("decoding records: %w", err)
		}
		records = append(records, Record{fields[0], number})
	}
	return records, nil
}

// Outcome is what a client knows of its append.
type Outcome int

const (
	// Unknown: it may be applied, now or later.
	Unknown Outcome = iota
	// Acknowledged: it was answered with success.
	Acknowledged
	// Refused: the answer promises that it was not applied and never will be.
	Refused
)

// String implements fmt.Stringer.
func (o Outcome) String() string {
	switch o {
	case Unknown:
		return "unknown"
	case Acknowledged:
		return "acknowledged"
	case Refused:
		return "refused"
	}
	return fmt.Sprintf("outcome %d", int(o))
}

// Append is one record that a writer appended, in as many attempts as it made.
type Append struct {
	Record Record
	// Called is when the first attempt was sent, Returned when the last one was answered, both since the recording began.
	Called, Returned time.Duration
	Outcome          Outcome
	// End is the offset behind the record as the answer gave it; 0 where it gave none of this record.
	End int64
}

// Read is one answered read: the records from offset From to offset Next.
type Read struct {
	Reader           string
	Called, Returned time.Duration
	From, Next       int64
	Records          []Record
}

// History is what the clients of one stream did and saw.
type History struct {
	Appends []Append
	Reads   []Read
	// Faults are answers that no client should ever get, such as a gap in a producer's own sequence.
	Faults []string
	// Failures counts the requests that failed and were allowed to.
	Failures int
}
