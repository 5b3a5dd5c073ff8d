package routing

import (
	"errors"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParsePath(t *testing.T) {
	longest := strings.Repeat("a", MaxObjectNameBytes)
	longestEscaped := strings.Repeat("A", MaxEscapedNameBytes)
	tests := map[string]struct {
		path       string
		want       Stream
		wantClient string
		wantErr    error
	}{
		"namespace and name":                           {path: "/v1/stream/shop/orders", want: Stream{"shop", "orders"}},
		"one segment is in the default namespace":      {path: "/v1/stream/orders", want: Stream{"default", "orders"}},
		"more segments are one name":                   {path: "/v1/stream/shop/a/b", want: Stream{"shop", "x--c4nm4"}, wantClient: "a/b"},
		"the first is no label: all of it is the name": {path: "/v1/stream/Shop/a", want: Stream{"default", "x--adk6us1fc4"}, wantClient: "Shop/a"},
		"a dot makes the first no label":               {path: "/v1/stream/a.b/c", want: Stream{"default", "x--c4n64br3"}, wantClient: "a.b/c"},
		"subdomains stay as they are":                  {path: "/v1/stream/shop/a.b-c.d", want: Stream{"shop", "a.b-c.d"}},
		"upper case is escaped":                        {path: "/v1/stream/shop/A", want: Stream{"shop", "x--84"}, wantClient: "A"},
		"what looks escaped is escaped":                {path: "/v1/stream/shop/x--84", want: Stream{"shop", "x--f0miqe1k"}, wantClient: "x--84"},
		"the longest name that stays":                  {path: "/v1/stream/shop/" + longest, want: Stream{"shop", longest}},
		"one byte longer":                              {path: "/v1/stream/shop/" + longest + "a", wantErr: ErrBadName},
		"one byte longer than what can be escaped":     {path: "/v1/stream/shop/" + longestEscaped + "A", wantErr: ErrBadName},
		"no name":            {path: "/v1/stream/", wantErr: ErrNoStreamPath},
		"no stream":          {path: "/v1/streams/a/b", wantErr: ErrNoStreamPath},
		"the root":           {path: "/", wantErr: ErrNoStreamPath},
		"a slash at the end": {path: "/v1/stream/shop/", wantErr: ErrBadName},
		"an empty segment":   {path: "/v1/stream/shop//a", wantErr: ErrBadName},
		"a step up":          {path: "/v1/stream/shop/../a", wantErr: ErrBadName},
		"a step nowhere":     {path: "/v1/stream/./a", wantErr: ErrBadName},
		"subscriptions":      {path: "/v1/stream/__ds/subscriptions", wantErr: ErrReservedPath},
		"a name that only starts like it is none of them": {path: "/v1/stream/__dsx", want: Stream{"default", "x--btfm8sro"}, wantClient: "__dsx"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParsePath(tt.path, "default")
			if !errors.Is(err, tt.wantErr) {
				t.Fatalf("ParsePath(%q) error = %v, want %v", tt.path, err, tt.wantErr)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ParsePath(%q) differs (-want +got):\n%s", tt.path, diff)
			}
			if tt.wantClient != "" {
				if got := ClientName(got.Name); got != tt.wantClient {
					t.Errorf("ClientName(%q) = %q, want %q", tt.want.Name, got, tt.wantClient)
				}
			}
		})
	}
}

// FuzzStreamPath: the URL of a stream leads to the stream, whatever the default namespace is.
func FuzzStreamPath(f *testing.F) {
	for _, seed := range []string{"/v1/stream/a", "/v1/stream/a/b", "/v1/stream/A/b", "/v1/stream/a/b%2Fc", "/v1/stream/a/ü?"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		stream, err := ParsePath(path, "default")
		if err != nil {
			return
		}
		u, err := url.Parse(stream.Path())
		if err != nil {
			t.Fatalf("the path %q of %v is no URL: %v", stream.Path(), stream, err)
		}
		again, err := ParsePath(u.Path, "another")
		if err != nil || again != stream {
			t.Fatalf("ParsePath(%q) = %v, %v; want %v", u.Path, again, err, stream)
		}
	})
}
