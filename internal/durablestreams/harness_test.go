package durablestreams

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/engine/store"
)

const (
	textType = "text/plain"
	jsonType = "application/json"
)

// text and jsons are settings of a stream.
var (
	text  = Settings{ContentType: textType}
	jsons = Settings{ContentType: jsonType}
)

// newHandler returns a handler with the default limits, changed by the functions.
func newHandler(t *testing.T, changes ...func(*Config)) *Handler {
	t.Helper()
	c := Config{
		Limits: DefaultLimits(), Clock: time.Now, Jitter: func(int64) int64 { return 0 }, Log: logr.Discard(),
	}
	for _, change := range changes {
		change(&c)
	}
	h, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// header makes a header of names and values in turn.
func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

// producer makes the headers of an append of a producer.
func producer(id, epoch, seq string, more ...string) http.Header {
	return header(append([]string{headerProducerID, id, headerProducerEpoch, epoch, headerProducerSeq, seq}, more...)...)
}

// request makes a request to a stream; target is the query.
func request(t *testing.T, method, query string, h http.Header, body string) *http.Request {
	t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(t.Context(), method, "http://example.com/v1/stream/a"+query, reader)
	maps.Copy(r.Header, h)
	return r
}

// openStream returns a stream that is not created yet, over a session of its own.
func openStream(t *testing.T, settings Settings) Stream {
	t.Helper()
	objects, err := store.Open(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	session, err := engine.Open(t.Context(), objects, engine.Config{Stream: "a", Epoch: 1, Session: "first"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(session.Abandon)
	return Stream{ID: "a", Settings: settings, Log: session}
}

// createStream returns a stream that exists, with messages as separate appends.
func createStream(t *testing.T, settings Settings, messages ...string) Stream {
	t.Helper()
	s := openStream(t, settings)
	appends := []engine.Append{{Create: true}}
	for _, m := range messages {
		appends = append(appends, engine.Append{Messages: [][]byte{[]byte(m)}})
	}
	for _, a := range appends {
		if _, err := s.Log.Append(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// serve serves a request and demands that it is answered.
func serve(t *testing.T, h *Handler, s Stream, r *http.Request) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	if err := h.Serve(w, r, s); err != nil {
		t.Fatalf("%s %s was not answered: %v", r.Method, r.URL, err)
	}
	return w
}

// problemOf returns the type of the problem that was answered, without its base; "" for none.
func problemOf(t *testing.T, w *httptest.ResponseRecorder) ProblemType {
	t.Helper()
	if w.Header().Get("Content-Type") != "application/problem+json" {
		return ""
	}
	return ProblemType(strings.TrimPrefix(decode(t, w.Body.String())["type"].(string), ProblemBase))
}

// content returns everything that a stream holds.
func content(t *testing.T, s Stream) string {
	t.Helper()
	return serve(t, newHandler(t), s, request(t, http.MethodGet, "", nil, "")).Body.String()
}

// checkHeader demands values of headers; "" demands that there is none.
func checkHeader(t *testing.T, got http.Header, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got.Get(name) != value {
			t.Errorf("%s is %q, want %q", name, got.Get(name), value)
		}
	}
}

// advance lets time pass, in a test under testing/synctest: once nothing else runs, at once.
func advance(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // it waits for nothing, the clock is the test's
}
