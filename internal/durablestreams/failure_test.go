package durablestreams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamshift/streamshift/internal/engine"
)

func TestAppendFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		err        error
		wantStatus int
		wantType   ProblemType
		wantHeader http.Header
	}{
		"a deleted stream": {
			err: engine.ErrStreamDeleted, wantStatus: 404, wantType: ProblemStreamNotFound,
		},
		"a stream that is not created": {
			err: engine.ErrNotCreated, wantStatus: 404, wantType: ProblemStreamNotFound,
		},
		"a closed stream": {
			err: &engine.StreamClosedError{Tail: 7}, wantStatus: 409, wantType: ProblemStreamClosed,
			wantHeader: header(headerStreamClosed, "true", headerNextOffset, FormatOffset(7)),
		},
		"a stale producer": {
			err:        &engine.ProducerError{Fault: engine.StaleProducerEpoch, CurrentEpoch: 4},
			wantStatus: 403, wantType: ProblemProducerStale, wantHeader: header(headerProducerEpoch, "4"),
		},
		"a gap of a producer": {
			err:        &engine.ProducerError{Fault: engine.ProducerSeqGap, ExpectedSeq: 2, ReceivedSeq: 5},
			wantStatus: 409, wantType: ProblemProducerGap,
			wantHeader: header(headerProducerExpected, "2", headerProducerReceived, "5"),
		},
		"a new epoch in the middle": {
			err:        &engine.ProducerError{Fault: engine.ProducerEpochStart, ReceivedSeq: 5},
			wantStatus: 400, wantType: ProblemProducerStart,
		},
		"a sequence that does not rise": {
			err: engine.ErrSeqNotRising, wantStatus: 409, wantType: ProblemSeqNotRising,
		},
		"too many waiting": {
			err: engine.ErrOverloaded, wantStatus: 503, wantType: ProblemOverloaded, wantHeader: header("Retry-After", "1"),
		},
		"an unknown outcome promises nothing": {
			err: engine.ErrOutcomeUnknown, wantStatus: 503, wantType: ProblemOutcomeUnknown,
		},
		"a time-out promises nothing": {
			err: context.DeadlineExceeded, wantStatus: 503, wantType: ProblemOutcomeUnknown,
		},
		"any other error promises nothing": {
			err: errors.New("connection reset"), wantStatus: 503, wantType: ProblemOutcomeUnknown,
		},
	} {
		t.Run(name, func(t *testing.T) {
			log := newFaultyLog(time.Now)
			log.appendErr = fmt.Errorf("appending: %w", tc.err)
			w := serve(t, newHandler(t), Stream{ID: "a", Settings: text, Log: log},
				request(t, http.MethodPost, "", header("Content-Type", textType), "data"))
			if w.Code != tc.wantStatus || problemOf(t, w) != tc.wantType {
				t.Errorf("got %d %s, want %d %s", w.Code, w.Body, tc.wantStatus, tc.wantType)
			}
			for _, name := range []string{
				headerStreamClosed, headerNextOffset, headerProducerEpoch, headerProducerExpected, headerProducerReceived,
				"Retry-After",
			} {
				if got, want := w.Header().Get(name), tc.wantHeader.Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			if got := w.Header().Get("Cache-Control"); got != cacheNever {
				t.Errorf("an error may be cached: %q", got)
			}
		})
	}
}

func TestReadFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		err        error
		wantStatus int
		wantType   ProblemType
	}{
		"a deleted stream":          {err: engine.ErrStreamDeleted, wantStatus: 404, wantType: ProblemStreamNotFound},
		"a trimmed offset":          {err: engine.ErrTrimmed, wantStatus: 410, wantType: ProblemOffsetGone},
		"an offset beyond the tail": {err: engine.ErrBeyondTail, wantStatus: 400, wantType: ProblemOffsetBeyondTail},
		"a store that fails":        {err: errors.New("no route to host"), wantStatus: 503, wantType: ProblemUnavailable},
		"a store that hangs":        {err: context.DeadlineExceeded, wantStatus: 503, wantType: ProblemUnavailable},
	} {
		for _, query := range []string{"", "?offset=-1&live=long-poll", "?offset=-1&live=sse", "?offset=now"} {
			t.Run(name+" in a read with "+query, func(t *testing.T) {
				log := newFaultyLog(time.Now)
				log.readErr = fmt.Errorf("reading: %w", tc.err)
				w := serve(t, newHandler(t), Stream{ID: "a", Settings: text, Log: log}, request(t, http.MethodGet, query, nil, ""))
				if w.Code != tc.wantStatus || problemOf(t, w) != tc.wantType {
					t.Errorf("got %d %s, want %d %s", w.Code, w.Body, tc.wantStatus, tc.wantType)
				}
			})
		}
	}
}

// A session that ended leaves every request as it was: unanswered, and with its body.
func TestEndedSessionLeavesTheRequest(t *testing.T) {
	for name, tc := range map[string]struct{ method, query, body string }{
		"an append":           {method: http.MethodPost, body: "data"},
		"a create":            {method: http.MethodPut, body: "data"},
		"a read":              {method: http.MethodGet},
		"a read of the tail":  {method: http.MethodGet, query: "?offset=now"},
		"a long-poll":         {method: http.MethodGet, query: "?offset=-1&live=long-poll"},
		"an event stream":     {method: http.MethodGet, query: "?offset=-1&live=sse"},
		"a read of the state": {method: http.MethodHead},
	} {
		for _, created := range []bool{true, false} {
			if created && tc.method == http.MethodPut {
				continue // it needs no session: the stream exists
			}
			t.Run(fmt.Sprintf("%s, created %t", name, created), func(t *testing.T) {
				log := newFaultyLog(time.Now, "before")
				log.info.Created = created
				log.end(fmt.Errorf("serving: %w", engine.ErrSessionClosed))
				r := request(t, tc.method, tc.query, header("Content-Type", textType), tc.body)
				w := httptest.NewRecorder()
				err := newHandler(t).Serve(w, r, Stream{ID: "a", Settings: text, Log: log})
				if !errors.Is(err, engine.ErrSessionClosed) {
					t.Fatalf("got error %v, want %v", err, engine.ErrSessionClosed)
				}
				if w.Body.Len() > 0 || w.Result().StatusCode != http.StatusOK {
					t.Errorf("something was written: %d %s", w.Code, w.Body)
				}
				if body, err := io.ReadAll(r.Body); err != nil || string(body) != tc.body {
					t.Errorf("the body is %q, %v, want %q", body, err, tc.body)
				}
			})
		}
	}
}

func TestDeletedStreamCanBeCreatedAgain(t *testing.T) {
	log := newFaultyLog(time.Now)
	log.info.Created = false
	log.appendErr = engine.ErrStreamDeleted
	w := httptest.NewRecorder()
	err := newHandler(t).Serve(w, request(t, http.MethodPut, "", nil, ""), Stream{Settings: Settings{ContentType: DefaultContentType}, Log: log})
	if !errors.Is(err, ErrStreamEnded) {
		t.Errorf("got error %v, want %v", err, ErrStreamEnded)
	}
}

func TestProblemOnTheWire(t *testing.T) {
	w := httptest.NewRecorder()
	w.Header().Set("ETag", `"of the answer that failed"`)
	WriteProblem(w, &Problem{Type: ProblemOverloaded, Status: 503, Detail: "Too much."})
	want := map[string]any{
		"type": "https://streamshift.io/problems/overloaded", "title": "Service Unavailable", "status": 503.0, "detail": "Too much.",
	}
	if diff := cmp.Diff(want, decode(t, w.Body.String())); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
	wantHeader := map[string]string{
		"Content-Type": "application/problem+json", "Cache-Control": "no-store", "Etag": "",
		"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "cross-origin", "Access-Control-Allow-Origin": "*",
	}
	for name, value := range wantHeader {
		if got := w.Header().Get(name); got != value {
			t.Errorf("%s is %q, want %q", name, got, value)
		}
	}
}

func decode(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q is no JSON object: %v", text, err)
	}
	return v
}

// TestAnAppendWhoseServerEndsIsNotAnsweredAsStored: where nothing is written, net/http says 200.
func TestAnAppendWhoseServerEndsIsNotAnsweredAsStored(t *testing.T) {
	log := newFaultyLog(time.Now)
	log.appendErr = context.Canceled
	r := request(t, http.MethodPost, "", header("Content-Type", textType), "data")
	ctx, cancel := context.WithCancel(r.Context())
	cancel()
	w := serve(t, newHandler(t), Stream{ID: "a", Settings: text, Log: log}, r.WithContext(ctx))
	if w.Code != http.StatusServiceUnavailable || problemOf(t, w) != ProblemOutcomeUnknown {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}
