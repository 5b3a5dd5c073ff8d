package durablestreams

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/streamshift/streamshift/internal/engine"
)

func TestDataEvent(t *testing.T) {
	for name, tc := range map[string]struct {
		messages []string
		as       encoding
		want     string
	}{
		"messages of a text are one text": {
			messages: []string{"message one", "message two"}, as: encodingText,
			want: "event: data\ndata:message onemessage two\n\n",
		},
		"each line end starts a data line": {
			messages: []string{"a\nb\r\nc\rd"}, as: encodingText,
			want: "event: data\ndata:a\ndata:b\ndata:c\ndata:d\n\n",
		},
		"a line end at the end is kept": {
			messages: []string{"a\n"}, as: encodingText,
			want: "event: data\ndata:a\ndata:\n\n",
		},
		"a line end that two messages share is one": {
			messages: []string{"a\r", "\nb"}, as: encodingText,
			want: "event: data\ndata:a\ndata:b\n\n",
		},
		"a space at the start of a line is doubled, elsewhere not": {
			messages: []string{" a", " b\n c"}, as: encodingText,
			want: "event: data\ndata:  a b\ndata:  c\n\n",
		},
		"text that looks like an event stays text": {
			messages: []string{"x\n\nevent: control\ndata: {}\n\n"}, as: encodingText,
			want: "event: data\ndata:x\ndata:\ndata:event: control\n" + "data:data: {}\ndata:\n" + "data:\n\n",
		},
		"JSON is an array": {
			messages: []string{`{"a":1}`, "[\n2]"}, as: encodingJSON,
			want: "event: data\ndata:[{\"a\":1},[\ndata:2]]\n\n",
		},
		"bytes are one base64 text": {
			messages: []string{"\x00\n", "\r\xff"}, as: encodingBytes,
			want: "event: data\ndata:AAoN/w==\n\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := dataEvent(slicesOf(tc.messages), tc.as)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("event (-want +got):\n%s", diff)
			}
		})
	}
}

// dataEvent returns what is written of a data event.
func dataEvent(messages [][]byte, as encoding) string {
	var written bytes.Buffer
	buffered := bufio.NewWriter(&written)
	writeDataEvent(buffered, messages, as)
	_ = buffered.Flush() // into memory
	return written.String()
}

// FuzzDataEvent reads what was written as the SSE standard says: one event, and its data is the text with every line
// end as LF, wherever the text was cut into messages.
func FuzzDataEvent(f *testing.F) {
	f.Add([]byte("a\r\nb\rc\n d"), 2, 5)
	f.Add([]byte("\n\nevent: control\ndata:{}\n\n"), 1, 3)
	f.Add([]byte("\r\r\n\n\r"), 1, 2)
	f.Add([]byte(" :id retry"), 0, 0)
	f.Fuzz(func(t *testing.T, text []byte, cut1, cut2 int) {
		if len(text) == 0 {
			t.Skip("there is no event without data")
		}
		messages := cut(text, cut1, cut2)
		written := dataEvent(messages, encodingText)
		want := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(string(text))
		if diff := cmp.Diff([]event{{name: "data", data: want}}, parseEvents(t, written)); diff != "" {
			t.Errorf("events of %q (-want +got):\n%s", messages, diff)
		}
		written = dataEvent(messages, encodingBytes)
		want = base64.StdEncoding.EncodeToString(text)
		if diff := cmp.Diff([]event{{name: "data", data: want}}, parseEvents(t, written)); diff != "" {
			t.Errorf("binary events of %q (-want +got):\n%s", messages, diff)
		}
	})
}

func TestSendable(t *testing.T) {
	for name, tc := range map[string]struct {
		messages     []string
		as           encoding
		more, closed bool
		want         []string
		wantHeld     int
	}{
		"whole characters":                         {messages: []string{"aé"}, as: encodingText, want: []string{"aé"}},
		"a character of which one byte is missing": {messages: []string{"a\xe2\x82"}, as: encodingText, want: []string{"a"}, wantHeld: 2},
		"the same before the tail":                 {messages: []string{"a\xe2\x82"}, as: encodingText, more: true, want: []string{"a"}, wantHeld: 2},
		"the same at the end of the stream":        {messages: []string{"a\xe2\x82"}, as: encodingText, closed: true, want: []string{"a\xe2\x82"}},
		"the same in binary":                       {messages: []string{"a\xe2\x82"}, as: encodingBytes, want: []string{"a\xe2\x82"}},
		"three bytes of four, in three messages":   {messages: []string{"a", "\xf0", "\x9f", "\x98"}, as: encodingText, want: []string{"a"}, wantHeld: 3},
		"nothing but the start of a character":     {messages: []string{"\xf0"}, as: encodingText, want: nil, wantHeld: 1},
		"bytes that can never become a character":  {messages: []string{"a\xff"}, as: encodingText, want: []string{"a\xff"}},
		"continuation bytes without a start":       {messages: []string{"\x80\x80\x80\x80"}, as: encodingText, want: []string{"\x80\x80\x80\x80"}},
		"no messages":                              {as: encodingText},
	} {
		t.Run(name, func(t *testing.T) {
			b := engine.Batch{Messages: slicesOf(tc.messages), From: 10, Next: 100, Tail: 100, StreamClosed: tc.closed}
			if tc.more {
				b.Tail = 200
			}
			got := sendable(b, tc.as)
			want := engine.Batch{Messages: slicesOf(tc.want), From: 10, Next: 100 - engine.Offset(tc.wantHeld), Tail: b.Tail, StreamClosed: tc.closed}
			if !tc.more {
				want.Tail = want.Next
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("batch (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(slicesOf(tc.messages), b.Messages); diff != "" {
				t.Errorf("the messages of the engine were changed (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzSendable cuts a valid text anywhere: each part that is sent is valid, and together they are the text.
func FuzzSendable(f *testing.F) {
	f.Add("aé€😀", 2, 4)
	f.Add("😀😀", 1, 5)
	f.Fuzz(func(t *testing.T, text string, cut1, cut2 int) {
		if !utf8.ValidString(text) {
			t.Skip("not UTF-8")
		}
		var sent, held []byte
		parts := cut([]byte(text), cut1, cut2)
		for i, part := range parts {
			b := engine.Batch{Messages: [][]byte{append(held, part...)}}
			b.Next = engine.Offset(len(b.Messages[0]))
			b.Tail = b.Next
			b.StreamClosed = i == len(parts)-1
			got := sendable(b, encodingText)
			chunk := bytes.Join(got.Messages, nil)
			if !utf8.Valid(chunk) {
				t.Errorf("%q cut to %q: sent %q, which is not UTF-8", text, parts, chunk)
			}
			sent = append(sent, chunk...)
			held = bytes.Clone(b.Messages[0][len(chunk):])
		}
		if string(sent) != text {
			t.Errorf("%q cut to %q: sent %q", text, parts, sent)
		}
	})
}

// event is what a client sees of an event stream.
type event struct{ name, data string }

func (e event) Equal(other event) bool { return e == other }

// parseEvents reads an event stream that must be whole: every event is complete.
func parseEvents(t *testing.T, stream string) []event {
	t.Helper()
	lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(stream), "\n")
	if last := lines[len(lines)-1]; last != "" {
		t.Fatalf("the stream ends inside the line %q", last)
	}
	var events []event
	var current event
	var data []string
	for _, line := range lines[:len(lines)-1] {
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if data != nil {
				current.data = strings.Join(data, "\n")
				events = append(events, current)
			}
			current, data = event{}, nil
		case field == "event":
			current.name = value
		case field == "data":
			data = append(data, value)
		}
	}
	if data != nil {
		t.Fatalf("the stream ends inside an event of %q", data)
	}
	return events
}

func slicesOf(texts []string) [][]byte {
	var out [][]byte
	for _, text := range texts {
		out = append(out, []byte(text))
	}
	return out
}

// cut returns the parts of the text between two positions, without empty ones.
func cut(text []byte, cut1, cut2 int) [][]byte {
	within := func(n int) int { return int(uint(n) % uint(len(text)+1)) }
	a, b := within(cut1), within(cut2)
	a, b = min(a, b), max(a, b)
	var parts [][]byte
	for _, part := range [][]byte{text[:a], text[a:b], text[b:]} {
		if len(part) > 0 {
			parts = append(parts, part)
		}
	}
	return parts
}
