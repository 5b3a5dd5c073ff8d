package durablestreams

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func TestTTLSlides(t *testing.T) {
	const ttl = 10 * time.Second
	for name, tc := range map[string]struct {
		method, query, body string
		header              http.Header
		wantSlide           bool
	}{
		"with a read":                       {method: http.MethodGet, wantSlide: true},
		"with a read of the tail":           {method: http.MethodGet, query: "?offset=now", wantSlide: true},
		"with a read that is not modified":  {method: http.MethodGet, header: header("If-None-Match", "*"), wantSlide: true},
		"with a long-poll":                  {method: http.MethodGet, query: "?offset=-1&live=long-poll", wantSlide: true},
		"with an append":                    {method: http.MethodPost, header: header("Content-Type", textType), body: "x", wantSlide: true},
		"with a close":                      {method: http.MethodPost, header: header(headerStreamClosed, "true"), wantSlide: true},
		"with a close by a producer":        {method: http.MethodPost, header: producer("p", "0", "0", headerStreamClosed, "true"), wantSlide: true},
		"with a PUT that finds the stream":  {method: http.MethodPut, header: header("Content-Type", textType, headerTTL, "10"), wantSlide: true},
		"but not with HEAD":                 {method: http.MethodHead},
		"but not with OPTIONS":              {method: http.MethodOptions},
		"but not with a refused append":     {method: http.MethodPost, header: header("Content-Type", jsonType), body: "1"},
		"but not with a malformed read":     {method: http.MethodGet, query: "?offset=x"},
		"but not with a PUT of another one": {method: http.MethodPut, header: header("Content-Type", jsonType)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				expired := 0
				h := newHandler(t, func(c *Config) { c.OnExpired = func(Stream) { expired++ } })
				s := Stream{ID: "a", Settings: Settings{ContentType: textType, TTL: new(ttl)}, Log: newFaultyLog(time.Now, "start")}
				status := func() int { return serve(t, h, s, request(t, http.MethodHead, "", nil, "")).Code }
				advance(ttl - 1)
				serve(t, h, s, request(t, tc.method, tc.query, tc.header, tc.body))
				advance(1)
				want := http.StatusNotFound
				if tc.wantSlide {
					want = http.StatusOK
				}
				if got := status(); got != want {
					t.Errorf("status is %d at the end of the first TTL, want %d", got, want)
				}
				advance(ttl - 1)
				if got := status(); got != http.StatusNotFound {
					t.Errorf("status is %d a TTL after the access, want 404", got)
				}
				if expired == 0 {
					t.Error("nobody was told of the expired stream")
				}
			})
		})
	}
}

func TestExpiryDoesNotSlide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHandler(t)
		s := Stream{Settings: Settings{ContentType: textType, ExpiresAt: new(time.Now().Add(10 * time.Second))}, Log: newFaultyLog(time.Now)}
		advance(10*time.Second - 1)
		if w := serve(t, h, s, request(t, http.MethodGet, "", nil, "")); w.Code != http.StatusOK {
			t.Errorf("status is %d just before the expiry, want 200", w.Code)
		}
		advance(1)
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			if w := serve(t, h, s, request(t, method, "", nil, "")); w.Code != http.StatusNotFound {
				t.Errorf("status of %s is %d at the expiry, want 404", method, w.Code)
			}
		}
	})
}

func TestExpiredStreamCanBeCreatedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := false
		h := newHandler(t, func(c *Config) { c.OnExpired = func(s Stream) { told = s.ID == "old" } })
		s := Stream{ID: "old", Settings: Settings{ContentType: textType, TTL: new(time.Second)}, Log: newFaultyLog(time.Now)}
		advance(time.Second)
		w := httptest.NewRecorder()
		err := h.Serve(w, request(t, http.MethodPut, "", header("Content-Type", jsonType), ""), s)
		if !errors.Is(err, ErrStreamEnded) || !told {
			t.Errorf("got error %v, owner told %t, want %v and true", err, told, ErrStreamEnded)
		}
	})
}

// A reader that waits is an access all the time, even where its wait is longer than the TTL.
func TestWaitingReaderKeepsItsStream(t *testing.T) {
	for _, live := range []string{"long-poll", "sse"} {
		t.Run(live, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHandler(t)
				s := Stream{Settings: Settings{ContentType: textType, TTL: new(2 * time.Second)}, Log: newFaultyLog(time.Now, "start")}
				got := start(h, s, request(t, http.MethodGet, "?offset=now&live="+live, nil, ""))
				<-got.done
				if got.took < h.limits.LongPoll {
					t.Errorf("the read ended after %s already", got.took)
				}
				if w := serve(t, h, s, request(t, http.MethodGet, "", nil, "")); w.Code != http.StatusOK {
					t.Errorf("status is %d behind the read, want 200", w.Code)
				}
			})
		})
	}
}

// A stream that was not created yet has no expiry: its creator may be late.
func TestStreamThatIsNotCreatedDoesNotExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newFaultyLog(time.Now)
		log.info.Created = false
		s := Stream{Settings: Settings{ContentType: textType, TTL: new(time.Second)}, Log: log}
		advance(time.Hour)
		w := serve(t, newHandler(t), s, request(t, http.MethodPut, "", header("Content-Type", textType, headerTTL, "1"), ""))
		if w.Code != http.StatusCreated {
			t.Errorf("status is %d %s, want 201", w.Code, w.Body)
		}
	})
}
