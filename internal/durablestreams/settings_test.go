package durablestreams

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseSettings(t *testing.T) {
	at := time.Date(2027, 1, 2, 3, 4, 5, 600_000_000, time.UTC)
	longest := "text/" + strings.Repeat("x", maxContentTypeBytes-len("text/"))
	for name, tc := range map[string]struct {
		header      http.Header
		want        Settings
		wantProblem ProblemType
	}{
		"nothing given": {want: Settings{ContentType: DefaultContentType}},
		"a content type keeps its parameters": {
			header: http.Header{"Content-Type": {"Text/Plain; charset=utf-8"}},
			want:   Settings{ContentType: "Text/Plain; charset=utf-8"},
		},
		"a content type without subtype": {header: http.Header{"Content-Type": {"text"}}, wantProblem: ProblemInvalidRequest},
		"a content type at the limit":    {header: http.Header{"Content-Type": {longest}}, want: Settings{ContentType: longest}},
		"a content type one beyond":      {header: http.Header{"Content-Type": {longest + "x"}}, wantProblem: ProblemLimit},
		"a TTL": {
			header: http.Header{headerTTL: {"3600"}},
			want:   Settings{ContentType: DefaultContentType, TTL: new(time.Hour)},
		},
		"a TTL of zero": {
			header: http.Header{headerTTL: {"0"}},
			want:   Settings{ContentType: DefaultContentType, TTL: new(time.Duration(0))},
		},
		"the longest TTL": {
			header: http.Header{headerTTL: {"3153600000"}},
			want:   Settings{ContentType: DefaultContentType, TTL: new(maxTTL)},
		},
		"a TTL one beyond the longest":  {header: http.Header{headerTTL: {"3153600001"}}, wantProblem: ProblemLimit},
		"a TTL that overflows":          {header: http.Header{headerTTL: {"9223372036854775808"}}, wantProblem: ProblemInvalidRequest},
		"a TTL with a leading zero":     {header: http.Header{headerTTL: {"060"}}, wantProblem: ProblemInvalidRequest},
		"a TTL with a sign":             {header: http.Header{headerTTL: {"+60"}}, wantProblem: ProblemInvalidRequest},
		"a TTL with a fraction":         {header: http.Header{headerTTL: {"60.0"}}, wantProblem: ProblemInvalidRequest},
		"an empty TTL":                  {header: http.Header{headerTTL: {""}}, wantProblem: ProblemInvalidRequest},
		"a TTL given twice":             {header: http.Header{headerTTL: {"1", "1"}}, wantProblem: ProblemInvalidRequest},
		"an expiry that is no time":     {header: http.Header{headerExpiresAt: {"tomorrow"}}, wantProblem: ProblemInvalidRequest},
		"an expiry without a time zone": {header: http.Header{headerExpiresAt: {"2027-01-02T03:04:05"}}, wantProblem: ProblemInvalidRequest},
		"both a TTL and an expiry": {
			header:      http.Header{headerTTL: {"60"}, headerExpiresAt: {"2027-01-02T03:04:05Z"}},
			wantProblem: ProblemInvalidRequest,
		},
		"an expiry in another time zone": {
			header: http.Header{headerExpiresAt: {"2027-01-02T05:04:05.6+02:00"}},
			want:   Settings{ContentType: DefaultContentType, ExpiresAt: &at},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, p := parseSettings(tc.header)
			if problemType(p) != tc.wantProblem {
				t.Fatalf("got problem %v, want %q", p, tc.wantProblem)
			}
			if p == nil {
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("settings (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestSameSettings(t *testing.T) {
	at := time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)
	text := Settings{ContentType: "text/plain"}
	for name, tc := range map[string]struct {
		a, b Settings
		want bool
	}{
		"equal":                                 {a: text, b: text, want: true},
		"another case and a parameter":          {a: text, b: Settings{ContentType: "TEXT/plain ;charset=utf-8"}, want: true},
		"another type":                          {a: text, b: Settings{ContentType: "text/html"}},
		"a TTL against none":                    {a: Settings{TTL: new(time.Second)}, b: Settings{}},
		"equal TTLs":                            {a: Settings{TTL: new(time.Second)}, b: Settings{TTL: new(time.Second)}, want: true},
		"another TTL":                           {a: Settings{TTL: new(time.Second)}, b: Settings{TTL: new(time.Minute)}},
		"one moment in two time zones":          {a: Settings{ExpiresAt: &at}, b: Settings{ExpiresAt: new(at.In(time.FixedZone("", 3600)))}, want: true},
		"another moment":                        {a: Settings{ExpiresAt: &at}, b: Settings{ExpiresAt: new(at.Add(1))}},
		"a TTL of zero is not the same as none": {a: Settings{TTL: new(time.Duration(0))}, b: Settings{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.a.Same(tc.b); got != tc.want {
				t.Errorf("a.Same(b) = %t, want %t", got, tc.want)
			}
			if got := tc.b.Same(tc.a); got != tc.want {
				t.Errorf("b.Same(a) = %t, want %t", got, tc.want)
			}
		})
	}
}

func problemType(p *Problem) ProblemType {
	if p == nil {
		return ""
	}
	return p.Type
}
