package durablestreams

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
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
	for name, values := range h {
		r.Header[name] = values
	}
	return r
}

// answer is what a test looks at in a response.
type answer struct {
	Status int
	Header map[string]string // the headers that were asked for
	Body   string
	Type   string // of a problem
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
