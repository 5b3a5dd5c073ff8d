package load

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// record is what is appended: who wrote it, and the writer's own count. Padding brings it to the size that was asked for.
//
//	{"writer":"producer-0","number":17,"padding":"xxxx"}
type record struct {
	Writer  string `json:"writer"`
	Number  int    `json:"number"`
	Padding string `json:"padding,omitempty"`
}

// encode returns the record as JSON of about the given size in bytes.
func (r record) encode(size int) ([]byte, error) {
	if missing := size - len(`{"writer":"","number":,"padding":""}`) - len(r.Writer) - 6; missing > 0 {
		r.Padding = strings.Repeat("x", missing)
	}
	encoded, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encoding record %d of %s: %w", r.Number, r.Writer, err)
	}
	return encoded, nil
}

// decodeRecords reads the body of an answer: a JSON array of records, or nothing.
func decodeRecords(body []byte) ([]record, error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return nil, nil
	}
	var records []record
	if err := json.Unmarshal(body, &records); err != nil {
		return nil, fmt.Errorf("decoding records: %w", err)
	}
	return records, nil
}

// attempt is one record that a writer tried to append. The times are this process's, with their monotonic part.
type attempt struct {
	record record
	sent   time.Time
	// acknowledged is when the append was answered with success; zero where it never was.
	acknowledged time.Time
}
