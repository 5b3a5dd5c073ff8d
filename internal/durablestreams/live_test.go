package durablestreams

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamshift/streamshift/internal/engine"
)

// Time stands still in these tests but where all goroutines wait (testing/synctest): what a test sees does not depend
// on how fast it runs.

// served is a request that is being served.
type served struct {
	*httptest.ResponseRecorder
	err  error
	took time.Duration
	done chan struct{}
}

func start(h *Handler, s Stream, r *http.Request) *served {
	out := &served{ResponseRecorder: httptest.NewRecorder(), done: make(chan struct{})}
	go func() {
		defer close(out.done)
		begun := time.Now()
		out.err = h.Serve(out.ResponseRecorder, r, s)
		out.took = time.Since(begun)
	}()
	return out
}

func TestLongPollEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		query      string
		act        func(*faultyLog)
		arrived    time.Duration // before now
		wantErr    error
		wantStatus int
		wantBody   string
		wantNext   string
		wantTook   time.Duration
	}{
		"with 204 when the wait is over": {
			query: "now", wantStatus: 204, wantNext: FormatOffset(5), wantTook: 20 * time.Second,
		},
		"with 204 earlier where the request was held before": {
			query: "now", arrived: 8 * time.Second, wantStatus: 204, wantNext: FormatOffset(5), wantTook: 12 * time.Second,
		},
		"with 204 at once where it was held too long": {
			query: "now", arrived: 21 * time.Second, wantStatus: 204, wantNext: FormatOffset(5),
		},
		"with data as soon as there is some": {
			query: FormatOffset(5), wantStatus: 200, wantBody: "more", wantNext: FormatOffset(9), wantTook: time.Second,
			act: func(l *faultyLog) {
				l.set(func() { l.messages = slicesOf([]string{"start", "more"}); l.info.Tail = 9 })
			},
		},
		"with 204 when the stream is closed": {
			query: FormatOffset(5), wantStatus: 204, wantNext: FormatOffset(5), wantTook: time.Second,
			act: func(l *faultyLog) { l.set(func() { l.info.StreamClosed = true }) },
		},
		"unanswered when the session ends": {
			query: FormatOffset(5), wantErr: engine.ErrSessionClosed, wantTook: time.Second,
			act: func(l *faultyLog) { l.end(engine.ErrSessionClosed) },
		},
		"with where it began when the session ends under a read from now on": {
			query: "now", wantStatus: 204, wantNext: FormatOffset(5), wantTook: time.Second,
			act: func(l *faultyLog) { l.end(engine.ErrSessionClosed) },
		},
		"with 404 when the stream is deleted": {
			query: FormatOffset(5), wantStatus: 404, wantTook: time.Second,
			act: func(l *faultyLog) { l.end(engine.ErrStreamDeleted) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newFaultyLog(time.Now, "start")
				r := request(t, http.MethodGet, "?live=long-poll&offset="+tc.query, nil, "")
				r = r.WithContext(WithArrival(r.Context(), time.Now().Add(-tc.arrived)))
				got := start(newHandler(t), Stream{ID: "a", Settings: text, Log: log}, r)
				if tc.act != nil {
					advance(time.Second)
					tc.act(log)
				}
				<-got.done
				if !errors.Is(got.err, tc.wantErr) {
					t.Fatalf("got error %v, want %v", got.err, tc.wantErr)
				}
				if got.took != tc.wantTook {
					t.Errorf("it took %s, want %s", got.took, tc.wantTook)
				}
				if tc.wantErr != nil {
					return
				}
				if got.Code != tc.wantStatus || (tc.wantStatus < 300 && got.Body.String() != tc.wantBody) {
					t.Errorf("got %d %q, want %d %q", got.Code, got.Body, tc.wantStatus, tc.wantBody)
				}
				if next := got.Header().Get(headerNextOffset); next != tc.wantNext {
					t.Errorf("next offset is %q, want %q", next, tc.wantNext)
				}
				if tc.wantStatus < 300 && (got.Header().Get(headerCursor) == "" || got.Header().Get(headerUpToDate) != "true") {
					t.Errorf("cursor or up-to-date is missing: %v", got.Header())
				}
			})
		})
	}
}

func TestEventStreamLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFaultyLog(time.Now, "start")
		cursor := func(after time.Duration) string { return formatCursor(nextCursor(time.Now().Add(after), "", nil)) }
		want := []event{
			{"data", "start"}, {"control", `{"streamNextOffset":"0000000000000000005","streamCursor":"` + cursor(0) + `","upToDate":true}`},
			{"data", " a"}, {"control", `{"streamNextOffset":"0000000000000000007","streamCursor":"` + cursor(30*time.Second) + `","upToDate":true}`},
		}
		got := start(newHandler(t), Stream{ID: "a", Settings: text, Log: log}, request(t, http.MethodGet, "?live=sse&offset=-1", nil, ""))
		advance(30 * time.Second)
		log.set(func() { log.messages = slicesOf([]string{"start", " a"}); log.info.Tail = 7 })
		<-got.done
		if diff := cmp.Diff(want, parseEvents(t, got.Body.String())); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if got.took != 60*time.Second {
			t.Errorf("it lasted %s, want a minute", got.took)
		}
		if got.err != nil {
			t.Errorf("got error %v behind an answer", got.err)
		}
	})
}

func TestEventStreamEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		act      func(*faultyLog)
		wantLast string // the end of the last control event
		wantData string
	}{
		"when the session ends":      {act: func(l *faultyLog) { l.end(engine.ErrSessionClosed) }, wantLast: `"upToDate":true}`, wantData: "start"},
		"when the stream is deleted": {act: func(l *faultyLog) { l.end(engine.ErrStreamDeleted) }, wantLast: `"upToDate":true}`, wantData: "start"},
		"when the store fails": {
			act:      func(l *faultyLog) { l.set(func() { l.info.Tail++; l.readErr = errors.New("no answer") }) },
			wantLast: `"upToDate":true}`, wantData: "start",
		},
		"when the stream is closed": {
			act:      func(l *faultyLog) { l.set(func() { l.info.StreamClosed = true }) },
			wantLast: `{"streamNextOffset":"0000000000000000005","upToDate":true,"streamClosed":true}`, wantData: "start",
		},
		"when the stream is closed with a last append": {
			act: func(l *faultyLog) {
				l.set(func() { l.messages = slicesOf([]string{"start", "end"}); l.info.Tail = 8; l.info.StreamClosed = true })
			},
			wantLast: `{"streamNextOffset":"0000000000000000008","upToDate":true,"streamClosed":true}`, wantData: "startend",
		},
		"when the stream is closed inside a character": {
			act: func(l *faultyLog) {
				l.set(func() { l.messages = slicesOf([]string{"start", "\xe2"}); l.info.Tail = 6 })
				synctest.Wait()
				l.set(func() { l.info.StreamClosed = true })
			},
			wantLast: `{"streamNextOffset":"0000000000000000006","upToDate":true,"streamClosed":true}`, wantData: "start\xe2",
		},
		"never inside a character": {
			act: func(l *faultyLog) {
				l.set(func() { l.messages = slicesOf([]string{"start", "\xe2\x82"}); l.info.Tail = 7 })
				synctest.Wait()
				l.set(func() { l.messages = slicesOf([]string{"start", "\xe2\x82", "\xac!"}); l.info.Tail = 9 })
				synctest.Wait()
				l.end(engine.ErrSessionClosed)
			},
			wantLast: `"upToDate":true}`, wantData: "start€!",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newFaultyLog(time.Now, "start")
				got := start(newHandler(t), Stream{ID: "a", Settings: text, Log: log}, request(t, http.MethodGet, "?live=sse&offset=-1", nil, ""))
				advance(time.Second)
				tc.act(log)
				<-got.done
				if got.err != nil || got.took != time.Second {
					t.Errorf("ended with %v after %s, want at once and without an error", got.err, got.took)
				}
				var data string
				events := parseEvents(t, got.Body.String())
				for i, e := range events {
					if e.name == "data" {
						data += e.data
						if i+1 == len(events) || events[i+1].name != "control" {
							t.Errorf("data event %d has no control event behind it: %v", i, events)
						}
					}
				}
				if data != tc.wantData {
					t.Errorf("data is %q, want %q", data, tc.wantData)
				}
				last := events[len(events)-1].data
				if len(last) < len(tc.wantLast) || last[len(last)-len(tc.wantLast):] != tc.wantLast {
					t.Errorf("last control is %s, want it to end with %s", last, tc.wantLast)
				}
			})
		})
	}
}

func TestClientThatLeavesFreesItsRequest(t *testing.T) {
	for _, live := range []string{"long-poll", "sse"} {
		t.Run(live, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newFaultyLog(time.Now, "start")
				r := request(t, http.MethodGet, "?offset=now&live="+live, nil, "")
				ctx, leave := context.WithCancel(r.Context())
				got := start(newHandler(t), Stream{ID: "a", Settings: text, Log: log}, r.WithContext(ctx))
				advance(time.Second)
				leave()
				<-got.done
				if got.err != nil || got.took != time.Second {
					t.Errorf("ended with %v after %s, want at once and without an error", got.err, got.took)
				}
			})
		})
	}
}
