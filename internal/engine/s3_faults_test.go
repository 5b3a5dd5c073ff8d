package engine_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/engine/store"
	"github.com/streamshift/streamshift/test/s3server"
)

var s3Seed = flag.Uint64("s3-seed", uint64(time.Now().UnixNano()), "of the faults between the engine and the S3 server") // #nosec G115 -- any number

// trouble is what happens to one request on its way to the S3 server.
type trouble int

const (
	noTrouble trouble = iota
	// refusedBusy: 503 SlowDown; the server has not seen it.
	refusedBusy
	// refusedBroken: 500; the server has not seen it.
	refusedBroken
	// answerBroken: the server has done it, and the answer is 500.
	answerBroken
	// answerCut: the server has done it, and the connection breaks.
	answerCut
	// slow: the answer comes later than the engine waits.
	slow
	// conflict: 409, as S3 answers a conditional write while another one is under way.
	conflict
	// late: it is answered 500, and done a while later.
	late
	troubles
)

func (f trouble) String() string {
	return [...]string{"none", "503 SlowDown", "500", "done, then 500", "done, then cut", "slow", "409", "500, then done"}[f]
}

// troubled is a proxy in front of the S3 server.
type troubled struct {
	backend string
	// share of the requests that something happens to, of 100.
	share int

	mu     sync.Mutex
	random *rand.Rand
	counts [troubles]int
	late   sync.WaitGroup
}

const (
	// s3Patience is how long the engine waits for one call, slowness how long a slow one takes.
	s3Patience, slowness = 300 * time.Millisecond, 400 * time.Millisecond
)

func (p *troubled) pick() trouble {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := noTrouble
	if p.random.IntN(100) < p.share {
		f = trouble(1 + p.random.IntN(int(troubles)-1))
	}
	p.counts[f]++
	return f
}

func (p *troubled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	switch f := p.pick(); f {
	case noTrouble, troubles:
		p.pass(w, r, body)
	case refusedBusy:
		refuse(w, http.StatusServiceUnavailable, "SlowDown")
	case refusedBroken:
		refuse(w, http.StatusInternalServerError, "InternalError")
	case answerBroken:
		p.pass(httptest.NewRecorder(), r, body)
		refuse(w, http.StatusInternalServerError, "InternalError")
	case answerCut:
		p.pass(httptest.NewRecorder(), r, body)
		panic(http.ErrAbortHandler)
	case slow:
		select {
		case <-time.After(slowness):
		case <-r.Context().Done():
		}
		p.pass(w, r, body)
	case conflict:
		refuse(w, http.StatusConflict, "ConditionalRequestConflict")
	case late:
		p.late.Go(func() {
			<-time.After(slowness)
			p.pass(httptest.NewRecorder(), r, body)
		})
		refuse(w, http.StatusInternalServerError, "InternalError")
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>injected</Message></Error>", code)
}

// pass has the server do it. The host stays as it was signed.
func (p *troubled) pass(w http.ResponseWriter, r *http.Request, body []byte) {
	again, err := http.NewRequest(r.Method, "http://"+p.backend+r.URL.RequestURI(), strings.NewReader(string(body))) // outlives the one who asked
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	again.Header, again.Host = r.Header.Clone(), r.Host
	response, err := http.DefaultTransport.RoundTrip(again)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer func() { _ = response.Body.Close() }()
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body)
}

// TestNothingIsLostOnATroubledS3 has sessions follow each other over a connection to a real S3 server on which every fifth request
// meets trouble, and compares what is there in the end with what was acknowledged.
func TestNothingIsLostOnATroubledS3(t *testing.T) {
	direct, address := s3(t)
	t.Logf("seed %d", *s3Seed)
	proxy := &troubled{backend: address, share: 20, random: rand.New(rand.NewPCG(*s3Seed, 0))} // #nosec G404 -- reproducible on purpose
	front := httptest.NewServer(proxy)
	t.Cleanup(func() {
		proxy.late.Wait()
		front.Close()
	})
	t.Setenv("AWS_MAX_ATTEMPTS", "1") // the engine repeats; the library would hide half of it
	troubledStore, err := store.Open(t.Context(), s3server.StoreURL(strings.TrimPrefix(front.URL, "http://")))
	if err != nil {
		t.Fatal(err)
	}
	const sessions, writers, appends = 4, 4, 40
	var fates [writers][]error
	var number [writers]int
	for epoch := range engine.Epoch(sessions) {
		session := openTroubled(t, troubledStore, epoch+1)
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for range appends {
					_, err := session.Append(t.Context(), engine.Append{Messages: [][]byte{fmt.Appendf(nil, "%d:%d;", w, number[w])}})
					fates[w] = append(fates[w], err)
					number[w]++
				}
			})
		}
		all.Wait()
		session.Abandon() // as a crash
	}
	proxy.late.Wait()
	judgeTroubled(t, direct, sessions+1, fates[:])
	for f := range troubles {
		t.Logf("%-15s %d requests", f, proxy.counts[f])
		if proxy.counts[f] == 0 {
			t.Errorf("no request met %q", f)
		}
	}
}

// openTroubled opens a session, as often as that takes.
func openTroubled(t *testing.T, s store.Store, epoch engine.Epoch) *engine.Session {
	t.Helper()
	for tries := 1; ; tries++ {
		session, err := engine.Open(t.Context(), s, engine.Config{
			Stream: "s", Session: fmt.Sprint("session-", epoch), Epoch: epoch, Created: true,
			Limits: engine.Limits{
				StoreTimeout: s3Patience, RetryAfter: time.Millisecond, RetryAtMost: 20 * time.Millisecond, AnswerWithin: 2 * time.Second,
				CheckpointSegments: 16,
			},
		})
		if err == nil {
			t.Cleanup(session.Abandon)
			return session
		}
		var fenced *engine.FencedError
		if errors.As(err, &fenced) || errors.Is(err, engine.ErrStreamDeleted) || tries == 1000 {
			t.Fatalf("opening at epoch %d, try %d: %v", epoch, tries, err)
		}
	}
}

// judgeTroubled demands that every append that was acknowledged is there once and in its writer's order, and every other one at most
// once.
func judgeTroubled(t *testing.T, s store.Store, epoch engine.Epoch, fates [][]error) {
	t.Helper()
	session := openTroubled(t, s, epoch)
	var text strings.Builder
	for from := engine.Offset(0); from < session.Info().Tail; {
		b, err := session.Read(t.Context(), from, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range b.Messages {
			text.Write(m)
		}
		from = b.Next
	}
	seen := map[string]int{}
	last := map[int]int{}
	for record := range strings.SplitSeq(strings.TrimSuffix(text.String(), ";"), ";") {
		var w, n int
		if _, err := fmt.Sscanf(record, "%d:%d", &w, &n); err != nil {
			t.Fatalf("record %q: %v", record, err)
		}
		if before, ok := last[w]; ok && n <= before {
			t.Errorf("record %s comes behind %d", record, before)
		}
		last[w] = n
		seen[record]++
	}
	acknowledged, unknown := 0, 0
	for w, writer := range fates {
		for n, err := range writer {
			record := fmt.Sprintf("%d:%d", w, n)
			switch {
			case err == nil && seen[record] != 1:
				t.Errorf("record %s was acknowledged and is there %d times", record, seen[record])
			case seen[record] > 1:
				t.Errorf("record %s is there %d times", record, seen[record])
			case err == nil:
				acknowledged++
			case errors.Is(err, engine.ErrOutcomeUnknown):
				unknown++
			case seen[record] > 0:
				t.Errorf("record %s was refused with %v and is there", record, err)
			}
		}
	}
	t.Logf("%d appends acknowledged, %d of unknown outcome", acknowledged, unknown)
	if acknowledged == 0 {
		t.Error("nothing was acknowledged")
	}
}
