package durablestreams

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamshift/streamshift/internal/engine"
)

const get = http.MethodGet

func TestRead(t *testing.T) {
	expiring := Settings{ContentType: textType, TTL: new(time.Hour)}
	for name, tc := range map[string]struct {
		settings   Settings
		messages   []string
		query      string
		wantBody   string
		wantHeader map[string]string
	}{
		"the whole stream": {
			settings: text, messages: []string{"a", "bc"}, wantBody: "abc",
			wantHeader: map[string]string{
				"Content-Type": textType, "Content-Length": "3", "Etag": `"a:0:3:tail"`, "Cache-Control": cacheRevalidate,
				headerNextOffset: FormatOffset(3), headerUpToDate: "true", headerStreamClosed: "",
			},
		},
		"from the beginning by name": {settings: text, messages: []string{"abc"}, query: "?offset=-1", wantBody: "abc"},
		"from a position on": {
			settings: text, messages: []string{"a", "bc"}, query: "?offset=" + FormatOffset(1), wantBody: "bc",
			wantHeader: map[string]string{"Etag": `"a:1:3:tail"`},
		},
		"at the tail": {
			settings: text, messages: []string{"abc"}, query: "?offset=" + FormatOffset(3), wantBody: "",
			wantHeader: map[string]string{headerNextOffset: FormatOffset(3), headerUpToDate: "true", "Content-Length": "0"},
		},
		"a chunk before the tail": {
			settings: text, messages: []string{"abc", "def", "ghi"}, wantBody: "abcdef",
			wantHeader: map[string]string{
				headerNextOffset: FormatOffset(6), headerUpToDate: "", "Etag": `"a:0:6:more"`,
				"Cache-Control": "private, max-age=60, stale-while-revalidate=300",
			},
		},
		"a message beyond the read limit comes alone and whole": {
			settings: text, messages: []string{"0123456789", "x"}, wantBody: "0123456789",
			wantHeader: map[string]string{headerUpToDate: ""},
		},
		"a stream that expires is not cached unasked": {
			settings: expiring, messages: []string{"abc", "def", "ghi"}, wantBody: "abcdef",
			wantHeader: map[string]string{"Cache-Control": cacheRevalidate},
		},
		"JSON is an array": {settings: jsons, messages: []string{"1", `{"a":2}`}, query: "?offset=-1", wantBody: `[1]`},
		"JSON at the tail is an empty array": {
			settings: jsons, messages: []string{"1"}, query: "?offset=" + FormatOffset(1), wantBody: `[]`,
			wantHeader: map[string]string{"Content-Length": "2"},
		},
		"where the tail is": {
			settings: text, messages: []string{"abc"}, query: "?offset=now", wantBody: "",
			wantHeader: map[string]string{headerNextOffset: FormatOffset(3), headerUpToDate: "true", "Etag": "", "Cache-Control": cacheNever},
		},
		"where the tail of JSON is":        {settings: jsons, messages: []string{"1"}, query: "?offset=now", wantBody: `[]`},
		"with parameters of somebody else": {settings: text, messages: []string{"abc"}, query: "?x=1&offset=-1&x=2", wantBody: "abc"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHandler(t, func(c *Config) { c.Limits.ReadBytes = 6 })
			w := serve(t, h, createStream(t, tc.settings, tc.messages...), request(t, get, tc.query, nil, ""))
			if w.Code != http.StatusOK || w.Body.String() != tc.wantBody {
				t.Errorf("got %d %q, want 200 %q", w.Code, w.Body, tc.wantBody)
			}
			checkHeader(t, w.Header(), tc.wantHeader)
			checkHeader(t, w.Header(), map[string]string{"X-Content-Type-Options": "nosniff", "Access-Control-Allow-Origin": "*"})
		})
	}
}

func TestMalformedReads(t *testing.T) {
	for name, tc := range map[string]struct {
		query       string
		wantProblem ProblemType
	}{
		"an empty offset":                 {query: "?offset=", wantProblem: ProblemInvalidRequest},
		"two offsets":                     {query: "?offset=-1&offset=-1", wantProblem: ProblemInvalidRequest},
		"an offset of another form":       {query: "?offset=5", wantProblem: ProblemInvalidRequest},
		"a query that is not well-formed": {query: "?offset=%zz", wantProblem: ProblemInvalidRequest},
		"an unknown live mode":            {query: "?offset=-1&live=websocket", wantProblem: ProblemInvalidRequest},
		"an empty live mode":              {query: "?offset=-1&live=", wantProblem: ProblemInvalidRequest},
		"a long-poll without an offset":   {query: "?live=long-poll", wantProblem: ProblemInvalidRequest},
		"events without an offset":        {query: "?live=sse", wantProblem: ProblemInvalidRequest},
		"one position beyond the tail":    {query: "?offset=" + FormatOffset(8), wantProblem: ProblemOffsetBeyondTail},
		"a position inside a message":     {query: "?offset=" + FormatOffset(1), wantProblem: ProblemInvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			w := serve(t, newHandler(t), createStream(t, jsons, `{"a":1}`), request(t, get, tc.query, nil, ""))
			if w.Code != http.StatusBadRequest || problemOf(t, w) != tc.wantProblem {
				t.Errorf("got %d %s, want 400 %q", w.Code, w.Body, tc.wantProblem)
			}
		})
	}
}

func TestNotModified(t *testing.T) {
	h, s := newHandler(t), createStream(t, text, "abc")
	tag := func() string { return serve(t, h, s, request(t, get, "", nil, "")).Header().Get("ETag") }
	first := tag()
	w := serve(t, h, s, request(t, get, "", header("If-None-Match", first), ""))
	if w.Code != http.StatusNotModified || w.Body.Len() > 0 {
		t.Errorf("got %d %q, want 304 and no body", w.Code, w.Body)
	}
	checkHeader(t, w.Header(), map[string]string{"Etag": first, headerNextOffset: FormatOffset(3), headerUpToDate: "true"})
	serve(t, h, s, request(t, http.MethodPost, "", closing, ""))
	w = serve(t, h, s, request(t, get, "", header("If-None-Match", first), ""))
	if w.Code != http.StatusOK || w.Header().Get(headerStreamClosed) != "true" {
		t.Errorf("the answer of an open stream still holds behind its end: %d %v", w.Code, w.Header())
	}
	if again := tag(); again == first {
		t.Errorf("the tag %s did not change with the end of the stream", again)
	}
}

// A reader that follows the offsets of the answers sees everything once, whatever the chunks are.
func TestFollowingOffsets(t *testing.T) {
	var messages []string
	for i := range 50 {
		messages = append(messages, strings.Repeat(string(rune('a'+i%26)), 1+i%7))
	}
	s := createStream(t, text, messages...)
	for _, limit := range []int{1, 3, 10, 1000} {
		h := newHandler(t, func(c *Config) { c.Limits.ReadBytes = limit })
		got, offset := "", "-1"
		for range 100 {
			w := serve(t, h, s, request(t, get, "?offset="+offset, nil, ""))
			got += w.Body.String()
			offset = w.Header().Get(headerNextOffset)
			if w.Header().Get(headerUpToDate) == "true" {
				break
			}
		}
		if want := strings.Join(messages, ""); got != want {
			t.Errorf("in chunks of %d bytes: got %q, want %q", limit, got, want)
		}
	}
}

func TestHead(t *testing.T) {
	at := time.Date(2099, 1, 2, 3, 4, 5, 0, time.FixedZone("", 3600))
	for name, tc := range map[string]struct {
		settings   Settings
		closes     bool
		wantHeader map[string]string
	}{
		"an open stream": {settings: text, wantHeader: map[string]string{
			"Content-Type": textType, "Cache-Control": cacheNever, headerNextOffset: FormatOffset(3),
			headerStreamClosed: "", headerTTL: "", headerExpiresAt: "",
		}},
		"a closed stream":         {settings: text, closes: true, wantHeader: map[string]string{headerStreamClosed: "true"}},
		"a stream with a TTL":     {settings: Settings{ContentType: textType, TTL: new(time.Hour)}, wantHeader: map[string]string{headerTTL: "3600"}},
		"a stream with an expiry": {settings: Settings{ContentType: textType, ExpiresAt: &at}, wantHeader: map[string]string{headerExpiresAt: "2099-01-02T02:04:05Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := createStream(t, tc.settings, "abc")
			if tc.closes {
				serve(t, newHandler(t), s, request(t, http.MethodPost, "", closing, ""))
			}
			w := serve(t, newHandler(t), s, request(t, http.MethodHead, "", nil, ""))
			if w.Code != http.StatusOK {
				t.Errorf("status is %d, want 200", w.Code)
			}
			checkHeader(t, w.Header(), tc.wantHeader)
		})
	}
}

func TestLongPollWithDataIsCacheable(t *testing.T) {
	now := time.Now()
	h := newHandler(t, func(c *Config) { c.CacheScope, c.Clock = CachePublic, func() time.Time { return now } })
	w := serve(t, h, createStream(t, text, "abc"), request(t, get, "?offset=-1&live=long-poll&cursor=5", nil, ""))
	checkHeader(t, w.Header(), map[string]string{
		"Cache-Control": "public, max-age=60, stale-while-revalidate=300", "Etag": `"a:0:3:tail"`, headerUpToDate: "true",
		headerCursor: formatCursor(nextCursor(now, "5", nil)),
	})
}

func TestEventStreamPagesThroughTheStream(t *testing.T) {
	s := createStream(t, text, "abc", "def", "gh\ni")
	serve(t, newHandler(t), s, request(t, http.MethodPost, "", closing, ""))
	now := time.Now()
	h := newHandler(t, func(c *Config) { c.Limits.EventBytes, c.Clock = 6, func() time.Time { return now } })
	w := serve(t, h, s, request(t, get, "?offset=-1&live=sse", nil, ""))
	cursor := formatCursor(nextCursor(now, "", nil))
	want := []event{
		{"data", "abcdef"}, {"control", `{"streamNextOffset":"` + FormatOffset(6) + `","streamCursor":"` + cursor + `"}`},
		{"data", "gh\ni"}, {"control", `{"streamNextOffset":"` + FormatOffset(10) + `","upToDate":true,"streamClosed":true}`},
	}
	if diff := cmp.Diff(want, parseEvents(t, w.Body.String())); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	checkHeader(t, w.Header(), map[string]string{
		"Content-Type": "text/event-stream", "Content-Length": "", "Cache-Control": "no-cache, no-transform", headerDataEncoding: "",
	})
}

// The fault-injecting log of these tests reads as a session does.
func TestFaultyLogReadsAsASession(t *testing.T) {
	session, faulty := createStream(t, text, "abc", "def").Log, newFaultyLog(time.Now, "abc", "def")
	for from := range engine.Offset(8) {
		want, wantErr := session.Read(t.Context(), from, 100)
		got, err := faulty.Read(t.Context(), from, 100)
		if diff := cmp.Diff(want, got); diff != "" || (err == nil) != (wantErr == nil) {
			t.Errorf("reading from %d: errors %v and %v, batches (-session +faulty):\n%s", from, wantErr, err, diff)
		}
	}
}
