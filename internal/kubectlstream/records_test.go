package kubectlstream

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

const jsonType = "application/json; charset=utf-8"

// all reads a source to its end.
func all(t *testing.T, source recordSource) (records []string, batches int, err error) {
	t.Helper()
	for {
		batch, err := source(t.Context())
		if errors.Is(err, io.EOF) {
			return records, batches, nil
		}
		if err != nil {
			return records, batches, err
		}
		batches++
		for _, record := range batch {
			records = append(records, string(record))
		}
	}
}

func TestRecordsOfStandardInput(t *testing.T) {
	for name, c := range map[string]struct {
		contentType, input string
		want               []string
		wantError          string
	}{
		"JSON, a value a line":       {jsonType, "{\"a\":1}\n{\"a\":2}\n", []string{`{"a":1}`, `{"a":2}`}, ""},
		"JSON over lines":            {jsonType, "{\n\"a\": 1\n} [1,\n2]\"x\"", []string{"{\n\"a\": 1\n}", "[1,\n2]", `"x"`}, ""},
		"JSON that breaks off":       {jsonType, `{"a":1}{"a":`, []string{`{"a":1}`}, "from byte 7 on"},
		"what is no JSON":            {jsonType, `{"a":1} hello`, []string{`{"a":1}`}, "something else from byte"},
		"no JSON at all":             {jsonType, "", nil, ""},
		"bytes, taken as they come":  {"text/plain", "one\ntwo", []string{"one\ntwo"}, ""},
		"bytes that look like JSON":  {"application/octet-stream", "{\n}\n", []string{"{\n}\n"}, ""},
		"the largest piece of bytes": {"text/plain", strings.Repeat("x", pieceBytes), []string{strings.Repeat("x", pieceBytes)}, ""},
		"one byte beyond":            {"text/plain", strings.Repeat("x", pieceBytes+1), []string{strings.Repeat("x", pieceBytes), "x"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, _, err := all(t, fromReader(strings.NewReader(c.input), c.contentType))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
			if (err == nil) != (c.wantError == "") || err != nil && !strings.Contains(err.Error(), c.wantError) {
				t.Errorf("error %v, want %q", err, c.wantError)
			}
		})
	}
}

func TestABatchOfRecordsIsBounded(t *testing.T) {
	for name, c := range map[string]struct{ records, want int }{
		"as many as go together": {maxBatchRecords, 1},
		"one beyond":             {maxBatchRecords + 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			args := strings.Split(strings.TrimSuffix(strings.Repeat("1 ", c.records), " "), " ")
			source, err := fromArguments(args, jsonType)
			if err != nil {
				t.Fatal(err)
			}
			records, batches, err := all(t, source)
			if err != nil || len(records) != c.records || batches != c.want {
				t.Errorf("%d records in %d batches, %v", len(records), batches, err)
			}
		})
	}
}

func TestRecordsOfArguments(t *testing.T) {
	for name, c := range map[string]struct {
		contentType string
		args        []string
		want        []string
		wantError   string
	}{
		"JSON":         {jsonType, []string{`{"a":1}`, `[1,2]`, `"x"`}, []string{`{"a":1}`, `[1,2]`, `"x"`}, ""},
		"no JSON":      {jsonType, []string{`hello`}, nil, `"hello" is no JSON value`},
		"two in one":   {jsonType, []string{`1 2`}, nil, `"1 2" is no JSON value`},
		"lines":        {"text/plain", []string{"one", "two"}, []string{"one\n", "two\n"}, ""},
		"unknown type": {"", []string{"one"}, []string{"one\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			source, err := fromArguments(c.args, c.contentType)
			if c.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantError) {
					t.Fatalf("error %v, want %q", err, c.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := all(t, source)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("error %v, records (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestWhatComesSlowlyIsNotHeldBack(t *testing.T) {
	in, input := io.Pipe()
	source := fromReader(in, jsonType)
	for _, value := range []string{`1`, `2`} {
		go func() { _, _ = io.WriteString(input, value+"\n") }()
		batch, err := source(t.Context())
		if err != nil || len(batch) != 1 || string(batch[0]) != value {
			t.Fatalf("got %q, %v, want %s", batch, err, value)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := source(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, though nobody waits any more", err)
	}
	_ = input.Close()
}

func TestAnErrorOfStandardInputIsTold(t *testing.T) {
	broken := errors.New("broken")
	_, _, err := all(t, fromReader(iotest.ErrReader(broken), "text/plain"))
	if !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

func TestWriteChunk(t *testing.T) {
	for name, c := range map[string]struct{ contentType, data, want string }{
		"JSON, a value a line": {jsonType, `[{"a": 1},[2, 3],"x"]`, "{\"a\":1}\n[2,3]\n\"x\"\n"},
		"JSON, nothing new":    {jsonType, ``, ""},
		"bytes as they are":    {"text/plain", "[one", "[one"},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := writeChunk(&out, []byte(c.data), c.contentType); err != nil || out.String() != c.want {
				t.Errorf("got %q, %v, want %q", out.String(), err, c.want)
			}
		})
	}
}
