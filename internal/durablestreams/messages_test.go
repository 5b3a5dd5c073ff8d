package durablestreams

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	for name, tc := range map[string]struct {
		body        string
		as          encoding
		want        []string
		wantProblem ProblemType
	}{
		"bytes are one message":               {body: "[1,2]", as: encodingBytes, want: []string{"[1,2]"}},
		"text is one message":                 {body: " a\n", as: encodingText, want: []string{" a\n"}},
		"one value":                           {body: `{"a":1}`, as: encodingJSON, want: []string{`{"a":1}`}},
		"an array is flattened":               {body: `[1,"two",null]`, as: encodingJSON, want: []string{`1`, `"two"`, `null`}},
		"by one level only":                   {body: `[[1,2],[[3]]]`, as: encodingJSON, want: []string{`[1,2]`, `[[3]]`}},
		"an empty array has none":             {body: ` [ ] `, as: encodingJSON, want: nil},
		"an empty array inside is one":        {body: `[[]]`, as: encodingJSON, want: []string{`[]`}},
		"bytes stay, but white space around":  {body: "[ {\"a\" :\n1} ,\t1.0e+2 ]\r\n", as: encodingJSON, want: []string{"{\"a\" :\n1}", "1.0e+2"}},
		"commas and brackets in strings":      {body: `["a,]",{"k\"[":"},"}]`, as: encodingJSON, want: []string{`"a,]"`, `{"k\"[":"},"}`}},
		"an escaped backslash ends no string": {body: `["\\","b"]`, as: encodingJSON, want: []string{`"\\"`, `"b"`}},
		"the limit of messages":               {body: `[1,2,3]`, as: encodingJSON, want: []string{"1", "2", "3"}},
		"one message beyond":                  {body: `[1,2,3,4]`, as: encodingJSON, wantProblem: ProblemLimit},
		"invalid":                             {body: `{ invalid json }`, as: encodingJSON, wantProblem: ProblemInvalidRequest},
		"two values":                          {body: `1 2`, as: encodingJSON, wantProblem: ProblemInvalidRequest},
		"white space only":                    {body: ` `, as: encodingJSON, wantProblem: ProblemInvalidRequest},
		"a string that is not UTF-8":          {body: "\"\xff\"", as: encodingJSON, wantProblem: ProblemInvalidRequest},
		"white space that JSON does not know": {body: "\u00a0[1]", as: encodingJSON, wantProblem: ProblemInvalidRequest},
		"nested deeper than the parser goes":  {body: strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), as: encodingJSON, wantProblem: ProblemInvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			messages, p := split([]byte(tc.body), tc.as, 3)
			if problemType(p) != tc.wantProblem {
				t.Fatalf("got problem %v, want %q", p, tc.wantProblem)
			}
			var got []string
			for _, m := range messages {
				got = append(got, string(m))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzFlatten compares with the JSON package's own reading of an array.
func FuzzFlatten(f *testing.F) {
	for _, seed := range []string{`[]`, `[1, "a,]\"", {"b":[2]} ]`, `"x"`, `[[[]],{}]`, "[\"\\\\\",\n-1.5E3]", `{"a":[1,2]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if !json.Valid(body) || !utf8.Valid(body) {
			t.Skip("not JSON")
		}
		got, ok := flatten(body, len(body)+1)
		if !ok {
			t.Fatalf("%q: found more messages than bytes", body)
		}
		var want []json.RawMessage
		if trimmed := trimSpace(body); trimmed[0] != '[' {
			want = []json.RawMessage{trimmed}
		} else if err := json.Unmarshal(body, &want); err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("%q: got %d messages, want %d", body, len(got), len(want))
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("%q: message %d is %q, want %q", body, i, got[i], want[i])
			}
		}
	})
}
