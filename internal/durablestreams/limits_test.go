package durablestreams

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestLimitsMustBeWhole(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*Limits)
		wantErr bool
	}{
		"the defaults":                       {change: func(*Limits) {}},
		"no body":                            {change: func(l *Limits) { l.BodyBytes = 0 }, wantErr: true},
		"all bodies as large as one":         {change: func(l *Limits) { l.BodiesBytes = l.BodyBytes }},
		"all bodies smaller than one":        {change: func(l *Limits) { l.BodiesBytes = l.BodyBytes - 1 }, wantErr: true},
		"no live read":                       {change: func(l *Limits) { l.LiveReads = 0 }, wantErr: true},
		"no time for a read":                 {change: func(l *Limits) { l.ReadTimeout = 0 }, wantErr: true},
		"the longest long-poll":              {change: func(l *Limits) { l.LongPoll = MaxLongPoll }},
		"a long-poll beyond the longest one": {change: func(l *Limits) { l.LongPoll = MaxLongPoll + 1 }, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			limits := DefaultLimits()
			tc.change(&limits)
			_, err := New(Config{Limits: limits, Clock: time.Now, Jitter: func(int64) int64 { return 0 }})
			if (err != nil) != tc.wantErr {
				t.Errorf("got error %v, want one: %t", err, tc.wantErr)
			}
		})
	}
}

func TestTokenLimits(t *testing.T) {
	longest := strings.Repeat("x", DefaultLimits().TokenBytes)
	for name, tc := range map[string]struct {
		header   http.Header
		wantType ProblemType
	}{
		"the longest producer":                  {header: producer(longest, "0", "0")},
		"a producer one byte longer":            {header: producer(longest+"x", "0", "0"), wantType: ProblemLimit},
		"the longest sequence":                  {header: header(headerSeq, longest)},
		"a sequence one byte longer":            {header: header(headerSeq, longest+"x"), wantType: ProblemLimit},
		"the largest producer numbers":          {header: producer("p", "9007199254740991", "9007199254740991")},
		"a producer epoch one beyond":           {header: producer("p", "9007199254740992", "0"), wantType: ProblemInvalidRequest},
		"a producer sequence one beyond":        {header: producer("p", "0", "9007199254740992"), wantType: ProblemInvalidRequest},
		"a producer number with a leading zero": {header: producer("p", "0", "01"), wantType: ProblemInvalidRequest},
		"an empty sequence":                     {header: header(headerSeq, ""), wantType: ProblemInvalidRequest},
		"a header given twice":                  {header: header(headerSeq, "a", headerSeq, "b"), wantType: ProblemInvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			tc.header.Set("Content-Type", textType)
			w := serve(t, newHandler(t), Stream{Settings: text, Log: newFaultyLog(time.Now)}, request(t, http.MethodPost, "", tc.header, "x"))
			if got := problemOf(t, w); got != tc.wantType {
				t.Errorf("got %d %s, want %q", w.Code, w.Body, tc.wantType)
			}
		})
	}
}

// listen serves a stream on loopback. The channel is closed when a request was served.
func listen(t *testing.T, h *Handler, s Stream) (*httptest.Server, <-chan struct{}) {
	t.Helper()
	served := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h.Serve(w, r, s); err != nil {
			t.Errorf("%s was not answered: %v", r.Method, err)
		}
		served <- struct{}{}
	}))
	t.Cleanup(server.Close)
	return server, served
}

// post appends a text and returns what was answered.
func post(t *testing.T, server *httptest.Server, body io.Reader) (status int, h http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", textType)
	response, err := server.Client().Do(r)
	if err != nil {
		t.Fatalf("the answer did not arrive: %v", err)
	}
	_ = response.Body.Close()
	return response.StatusCode, response.Header
}

func TestBodyLimit(t *testing.T) {
	const limit = 1000
	h := newHandler(t, func(c *Config) { c.Limits.BodyBytes = limit })
	server, _ := listen(t, h, Stream{Settings: text, Log: newFaultyLog(time.Now)})
	for name, tc := range map[string]struct {
		bytes      int
		wantStatus int
	}{
		"at the limit":                      {bytes: limit, wantStatus: http.StatusNoContent},
		"one beyond":                        {bytes: limit + 1, wantStatus: http.StatusRequestEntityTooLarge},
		"far beyond, answered all the same": {bytes: 8 << 20, wantStatus: http.StatusRequestEntityTooLarge},
	} {
		body := strings.Repeat("x", tc.bytes)
		t.Run(name, func(t *testing.T) {
			if got, _ := post(t, server, strings.NewReader(body)); got != tc.wantStatus {
				t.Errorf("status is %d, want %d", got, tc.wantStatus)
			}
		})
		t.Run(name+", of unknown length", func(t *testing.T) {
			if got, _ := post(t, server, io.MultiReader(strings.NewReader(body))); got != tc.wantStatus {
				t.Errorf("status is %d, want %d", got, tc.wantStatus)
			}
		})
	}
}

func TestAllBodiesLimit(t *testing.T) {
	h := newHandler(t, func(c *Config) { c.Limits.BodyBytes, c.Limits.BodiesBytes = 10, 15 })
	server, served := listen(t, h, Stream{Settings: text, Log: newFaultyLog(time.Now)})
	first := dial(t, server) // the length of its body is unknown: what has come takes 10, the least that is taken
	_, _ = io.WriteString(first, "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
	for h.BodyBytes() == 0 { // until it is being read
		runtime.Gosched()
	}
	if got, h := post(t, server, strings.NewReader("123456")); got != http.StatusServiceUnavailable || h.Get("Retry-After") != "1" {
		t.Errorf("one byte beyond the limit: status %d, Retry-After %q, want 503 and 1", got, h.Get("Retry-After"))
	}
	if got, _ := post(t, server, strings.NewReader("12345")); got != http.StatusNoContent {
		t.Errorf("at the limit: status %d, want 204", got)
	}
	_, _ = io.WriteString(first, "0\r\n\r\n")
	if got, err := bufio.NewReader(first).ReadString('\n'); err != nil || !strings.HasPrefix(got, "HTTP/1.1 204 ") {
		t.Errorf("the body that held the limit: got %q, %v, want 204", got, err)
	}
	for range 3 {
		<-served
	}
	if got := h.BodyBytes(); got != 0 {
		t.Errorf("%d bytes of bodies that are gone still count", got)
	}
	if got := h.Refused(LimitBodies); got != 1 {
		t.Errorf("%d refusals are counted, want 1", got)
	}
}

func TestLiveReadsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t, func(c *Config) { c.Limits.LiveReads = 2 })
		s := Stream{Settings: text, Log: newFaultyLog(time.Now, "start")}
		first := start(h, s, request(t, http.MethodGet, "?offset=now&live=long-poll", nil, ""))
		second := start(h, s, request(t, http.MethodGet, "?offset=now&live=sse", nil, ""))
		synctest.Wait()
		if w := serve(t, h, s, request(t, http.MethodGet, "?offset=-1&live=sse", nil, "")); problemOf(t, w) != ProblemOverloaded {
			t.Errorf("one beyond the limit: got %d %s", w.Code, w.Body)
		}
		if w := serve(t, h, s, request(t, http.MethodGet, "?offset=-1", nil, "")); w.Code != http.StatusOK {
			t.Errorf("a catch-up read: got %d %s", w.Code, w.Body)
		}
		<-first.done
		if w := serve(t, h, s, request(t, http.MethodGet, "?offset=-1&live=long-poll", nil, "")); w.Code != http.StatusOK {
			t.Errorf("when one has ended: got %d %s", w.Code, w.Body)
		}
		<-second.done
	})
}
