package streamclient

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// maxEventBytes bounds one event.
const maxEventBytes = 64 << 20

var errEventTooLarge = errors.New("an event is too large")

// eventReader reads chunks off an event stream: a data event with the control event behind it, or a control event alone.
// Data without its control event is dropped: it comes again from the offset before it.
type eventReader struct {
	in     *bufio.Reader
	base64 bool
}

func newEventReader(response *http.Response) *eventReader {
	return &eventReader{
		in:     bufio.NewReader(response.Body),
		base64: strings.EqualFold(response.Header.Get("Stream-Sse-Data-Encoding"), "base64"),
	}
}

// next returns the next chunk and the cursor that came with it; the one given where none came.
func (r *eventReader) next(cursor string) (Chunk, string, error) {
	var chunk Chunk
	for {
		event, data, err := r.event()
		if err != nil {
			return Chunk{}, cursor, err
		}
		switch event {
		case "data":
			if chunk.Data, err = r.decode(data); err != nil {
				return Chunk{}, cursor, err
			}
		case "control":
			var control struct {
				StreamNextOffset, StreamCursor string
				UpToDate, StreamClosed         bool
			}
			if err := json.Unmarshal(data, &control); err != nil {
				return Chunk{}, cursor, fmt.Errorf("reading a control event: %w", err)
			}
			if control.StreamCursor != "" {
				cursor = control.StreamCursor
			}
			chunk.Next = Offset(control.StreamNextOffset)
			chunk.UpToDate, chunk.Closed = control.UpToDate, control.StreamClosed
			return chunk, cursor, nil
		}
	}
}

func (r *eventReader) decode(data []byte) ([]byte, error) {
	if !r.base64 {
		return data, nil
	}
	decoded, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(string(data), "\n", ""))
	if err != nil {
		return nil, fmt.Errorf("decoding a data event: %w", err)
	}
	return decoded, nil
}

// event reads one event: its name and its data lines, joined by LF. Other fields and comments are skipped.
func (r *eventReader) event() (name string, data []byte, err error) {
	lines := 0
	for {
		line, err := r.in.ReadSlice('\n')
		full := line
		for errors.Is(err, bufio.ErrBufferFull) {
			full = append([]byte(nil), full...)
			line, err = r.in.ReadSlice('\n')
			full = append(full, line...)
			if len(full) > maxEventBytes {
				return "", nil, errEventTooLarge
			}
		}
		if err != nil {
			return "", nil, err
		}
		full = bytes.TrimRight(full, "\r\n")
		if len(full) == 0 {
			if name == "" && lines == 0 {
				continue
			}
			return name, data, nil
		}
		field, value, _ := bytes.Cut(full, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "data":
			if lines > 0 {
				data = append(data, '\n')
			}
			lines++
			data = append(data, value...)
			if len(data) > maxEventBytes {
				return "", nil, errEventTooLarge
			}
		}
	}
}
