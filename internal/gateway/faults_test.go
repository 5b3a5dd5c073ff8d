package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/streamshift/streamshift/internal/gateway"
	"github.com/streamshift/streamshift/internal/routing"
	"github.com/streamshift/streamshift/internal/routing/routingtest"
)

// replace puts a handler in place of a node.
func (b *bench) replace(node string, handler http.HandlerFunc) {
	b.nodes[node].Cut()
	b.nodes[node].Serve(handler)
}

// hang never answers.
func hang(asked *atomic.Int64) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		<-r.Context().Done()
	}
}

var producer = []string{"Producer-Id: p", "Producer-Epoch: 0", "Producer-Seq: 0"}

func TestNodeThatNeverAnswersAndIsTakenOver(t *testing.T) {
	tests := map[string]struct {
		method     string
		headers    []string
		wantStatus int
		wantText   string
	}{
		"a read is repeated":                 {method: http.MethodGet, wantStatus: 200},
		"an idempotent append is repeated":   {method: http.MethodPost, headers: producer, wantStatus: 200},
		"a plain append is of unknown state": {method: http.MethodPost, wantStatus: 503, wantText: "outcome-unknown"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, routingtest.Options{}, func(l *gateway.Limits) { l.LeftTimeout = 20 * time.Millisecond })
			b.Start(orders, text, "a")
			var asked atomic.Int64
			b.replace("a", hang(&asked))
			answer := b.client.Go(tt.method, b.url+ordersPath, "x", tt.headers...)
			routingtest.Eventually(t, "the node is asked", func() bool { return asked.Load() == 1 })
			b.TakeOver(orders, "b")
			a := answer()
			if a.Status != tt.wantStatus || !strings.Contains(a.Body, tt.wantText) {
				t.Errorf("answered %d %s, want %d %s", a.Status, a.Body, tt.wantStatus, tt.wantText)
			}
		})
	}
}

func TestNodeThatNeverAnswersAndIsNotTakenOver(t *testing.T) {
	b := newBench(t, routingtest.Options{}, func(l *gateway.Limits) {
		l.AnswerTimeout, l.ParkTimeout = 20*time.Millisecond, 100*time.Millisecond
	})
	b.Start(orders, text, "a")
	var asked atomic.Int64
	b.replace("a", hang(&asked))
	if a := b.client.Do(http.MethodGet, b.url+ordersPath, ""); a.Status != 503 || a.Header.Get("Retry-After") != "1" || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("a read is answered %d %v, want 503 that may be repeated", a.Status, a.Header)
	}
	if asked.Load() < 2 {
		t.Errorf("the node was asked %d times, want more than once", asked.Load())
	}
	for name, headers := range map[string][]string{"a plain append": nil, "an idempotent append": producer} {
		a := b.client.Do(http.MethodPost, b.url+ordersPath, "x", headers...)
		if a.Status != 503 || a.Header.Get("Retry-After") != "" || !strings.Contains(a.Body, "outcome-unknown") {
			t.Errorf("%s is answered %d %s %v, want 503 of unknown outcome", name, a.Status, a.Body, a.Header)
		}
	}
}

func TestNodeThatIsAwayForAWhile(t *testing.T) {
	b := newBench(t, routingtest.Options{}, nil)
	b.Start(orders, text, "a")
	b.nodes["a"].Cut()
	plain := b.client.Go(http.MethodPost, b.url+ordersPath, "x")
	read := b.client.Go(http.MethodGet, b.url+ordersPath, "")
	routingtest.Eventually(t, "both wait", func() bool { return b.parked() == 2 })
	b.nodes["a"].Serve(b.nodes["a"].Front)
	if a := plain(); a.Status != http.StatusNoContent {
		t.Errorf("the append is answered %d %s, want 204", a.Status, a.Body)
	}
	if a := read(); a.Status != http.StatusOK {
		t.Errorf("the read is answered %d %s, want 200", a.Status, a.Body)
	}
}

// The gateway has heard of a transfer, and then the API server goes away: the owner serves, whatever became of the target.
func TestTargetThatDoesNothing(t *testing.T) {
	tests := map[string]func(target *routingtest.Node){
		"it has not heard of the transfer": func(target *routingtest.Node) { target.SetLagging(true) },
		"it is gone":                       func(target *routingtest.Node) { target.Kill() },
	}
	for name, become := range tests {
		t.Run(name, func(t *testing.T) {
			const soon = 20 * time.Millisecond
			b := newBench(t, routingtest.Options{GiveBackAfter: soon}, func(l *gateway.Limits) { l.GiveBackAfter = soon })
			b.Start(orders, text, "a")
			become(b.nodes["b"])
			b.nodes["a"].SetLagging(true) // it goes on serving, as it would had it closed and could not complete
			b.Accept(orders, "b")
			b.SetAway(true)
			for _, method := range []string{http.MethodPost, http.MethodPost, http.MethodGet} {
				body := ""
				if method == http.MethodPost {
					body = "x"
				}
				if a := b.client.Do(method, b.url+ordersPath, body); a.Status/100 != 2 {
					t.Errorf("%s is answered %d %s, want success", method, a.Status, a.Body)
				}
			}
			// Back again, everything goes its way.
			b.SetAway(false)
			for _, name := range []string{"a", "b"} {
				b.nodes[name].SetLagging(false)
			}
			b.Close(orders)
			b.Withdraw(orders)
			b.Accept(orders, "c")
			b.Complete(orders)
			b.Open(orders)
			if a := b.client.Do(http.MethodGet, b.url+ordersPath, ""); a.Body != "xx" {
				t.Errorf("after the transfer %d %q is read, want both records", a.Status, a.Body)
			}
		})
	}
}

// The target gives the stream back, and could not find out where its source is while the API server is away.
func TestTargetThatDoesNotKnowWhereTheOwnerIs(t *testing.T) {
	b := newBench(t, routingtest.Options{}, nil)
	b.Start(orders, text, "a")
	b.nodes["a"].SetLagging(true)
	b.Accept(orders, "b")
	r, _ := b.Register(orders)
	b.replace("b", func(w http.ResponseWriter, _ *http.Request) {
		for name, value := range map[string]string{
			routing.HeaderAnswer: string(routing.AnswerUnavailable), routing.HeaderNode: "a", routing.HeaderRole: string(routing.RoleOwner),
			routing.HeaderEpoch: "1", routing.HeaderUID: r.UID, "Retry-After": "1",
		} {
			w.Header().Set(name, value)
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	for range 2 {
		if a := b.client.Do(http.MethodPost, b.url+ordersPath, "x"); a.Status != http.StatusNoContent {
			t.Errorf("the append is answered %d %s, want 204", a.Status, a.Body)
		}
	}
}

// A target that cannot be reached, and a source that hands over: requests are sent to and fro with pauses, and served in the end.
func TestTargetThatIsAwayWhileTheSourceHandsOver(t *testing.T) {
	b := newBench(t, routingtest.Options{}, func(l *gateway.Limits) { l.GiveBackAfter = time.Nanosecond })
	b.Start(orders, text, "a")
	b.nodes["b"].Cut()
	b.Accept(orders, "b")
	answer := b.client.Go(http.MethodPost, b.url+ordersPath, "x")
	routingtest.Eventually(t, "it waits", func() bool { return b.parked() == 1 })
	b.Close(orders)
	b.Complete(orders)
	b.Open(orders)
	b.nodes["b"].Serve(b.nodes["b"].Front)
	if a := answer(); a.Status != http.StatusNoContent {
		t.Errorf("the append is answered %d %s, want 204", a.Status, a.Body)
	}
}

func TestNothingIsReadyForAWhile(t *testing.T) {
	b := newBench(t, routingtest.Options{PlaceOn: "a"}, nil)
	for _, name := range []string{"a", "b", "c"} {
		b.table.RemoveNode(name)
	}
	put := b.client.Go(http.MethodPut, b.url+ordersPath, "x")
	routingtest.Eventually(t, "it waits", func() bool { return b.parked() == 1 })
	b.table.SetNode("b", routing.NodeState{Address: b.nodes["b"].URL, Ready: true})
	routingtest.Eventually(t, "the stream is made and its node not known", func() bool {
		r, ok := b.Register(orders)
		return ok && r.Owner == "a"
	})
	b.table.SetNode("a", routing.NodeState{Address: b.nodes["a"].URL, Ready: true})
	if a := put(); a.Status != http.StatusCreated && a.Status != http.StatusOK {
		t.Errorf("PUT is answered %d %s, want 201", a.Status, a.Body)
	}
}

// Two nodes that send requests to each other are asked a few times, not without end (D8).
func TestLoopsEnd(t *testing.T) {
	b := newBench(t, routingtest.Options{}, func(l *gateway.Limits) { l.ParkTimeout = 300 * time.Millisecond })
	b.Start(orders, text, "a")
	var asked atomic.Int64
	sendTo := func(node string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if hops := routing.ParseHops(r.Header); hops > routing.MaxHops {
				t.Errorf("a node is asked after %d hops", hops)
			}
			w.Header().Set(routing.HeaderAnswer, string(routing.AnswerElsewhere))
			w.Header().Set(routing.HeaderNode, node)
			w.Header().Set(routing.HeaderRole, string(routing.RoleOwner))
			w.Header().Set(routing.HeaderEpoch, "1")
			w.Header().Set(routing.HeaderUID, "uid-1")
			w.Header().Set(routing.HeaderAddress, b.nodes[node].URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
	}
	b.replace("a", sendTo("b"))
	b.replace("b", sendTo("a"))
	if a := b.client.Do(http.MethodPost, b.url+ordersPath, "x"); a.Status != 503 || a.Header.Get("Retry-After") != "1" {
		t.Errorf("answered %d %s, want 503 that may be repeated", a.Status, a.Body)
	}
	if got := asked.Load(); got < 4 || got > 60 {
		t.Errorf("the nodes were asked %d times in 300 ms, want a few", got)
	}
}

func TestLimits(t *testing.T) {
	b := newBench(t, routingtest.Options{}, func(l *gateway.Limits) {
		l.BodyBytes, l.BodiesBytes = 100, 250
		l.Parking = routing.ParkingLimits{PerStream: 2, Total: 3, Bytes: 1000}
		l.ParkTimeout = 5 * time.Second
	})
	b.Start(other, text, "a")
	b.Make(orders, text) // not placed: everything waits at the gateway
	body := func(n int) string { return strings.Repeat("x", n) }
	if a := b.client.Do(http.MethodPost, b.url+otherPath, body(100)); a.Status != http.StatusNoContent {
		t.Errorf("a body at the limit is answered %d, want 204", a.Status)
	}
	if a := b.client.Do(http.MethodPost, b.url+otherPath, body(101)); a.Status != http.StatusRequestEntityTooLarge || !strings.Contains(a.Body, "100") {
		t.Errorf("a body beyond the limit is answered %d %s, want 413 that names it", a.Status, a.Body)
	}
	first := b.client.Go(http.MethodPost, b.url+ordersPath, body(100))
	second := b.client.Go(http.MethodPost, b.url+ordersPath, body(100))
	routingtest.Eventually(t, "two wait", func() bool { return b.parked() == 2 })
	if a := b.client.Do(http.MethodGet, b.url+ordersPath, ""); a.Status != http.StatusTooManyRequests || a.Header.Get("Retry-After") != "1" {
		t.Errorf("a third for the stream is answered %d %v, want 429 that may be repeated", a.Status, a.Header)
	}
	if a := b.client.Do(http.MethodPost, b.url+otherPath, body(50)); a.Status != http.StatusNoContent {
		t.Errorf("with 50 bytes of room, 50 are answered %d, want 204", a.Status)
	}
	if a := b.client.Do(http.MethodPost, b.url+otherPath, body(51)); a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") != "1" {
		t.Errorf("with 50 bytes of room, 51 are answered %d %v, want 503 that may be repeated", a.Status, a.Header)
	}
	third := routing.Stream{Namespace: "shop", Name: "third"}
	b.Make(third, text)
	waiting := b.client.Go(http.MethodGet, b.url+third.Path(), "")
	routingtest.Eventually(t, "three wait", func() bool { return b.parked() == 3 })
	fourth := routing.Stream{Namespace: "shop", Name: "fourth"}
	b.Make(fourth, text)
	if a := b.client.Do(http.MethodGet, b.url+fourth.Path(), ""); a.Status != http.StatusServiceUnavailable {
		t.Errorf("a fourth in all is answered %d, want 503", a.Status)
	}
	for _, stream := range []routing.Stream{orders, third} {
		b.Place(stream, "b")
		b.Open(stream)
	}
	for _, answer := range []func() routingtest.Answer{first, second, waiting} {
		if a := answer(); a.Status != http.StatusNoContent && a.Status != http.StatusOK {
			t.Errorf("what waited is answered %d %s", a.Status, a.Body)
		}
	}
	if got := b.parked(); got != 0 {
		t.Errorf("%d requests still wait", got)
	}
}

// parked returns how many requests wait at the gateway.
func (b *bench) parked() int { return b.gateway.Parked() }

func TestParkTimeOver(t *testing.T) {
	b := newBench(t, routingtest.Options{}, func(l *gateway.Limits) { l.ParkTimeout = 20 * time.Millisecond })
	b.Make(orders, text)
	a := b.client.Do(http.MethodPost, b.url+ordersPath, "x")
	if a.Status != 503 || a.Header.Get("Retry-After") != "1" || a.Header.Get("Cache-Control") != "no-store" || !strings.Contains(a.Body, "not placed") {
		t.Errorf("answered %d %v %s, want 503 that says why", a.Status, a.Header, a.Body)
	}
}

func TestHeaders(t *testing.T) {
	b := newBench(t, routingtest.Options{}, nil)
	b.Start(orders, text, "a")
	got := make(chan *http.Request, 1)
	b.replace("a", func(w http.ResponseWriter, r *http.Request) {
		got <- r.Clone(context.Background())
		w.Header().Set("Streamshift-Node", "a")
		w.Header().Set("Keep-Alive", "timeout=5")
		w.Header().Set("X-Own", "kept")
		w.WriteHeader(http.StatusOK)
	})
	a := b.client.Do(http.MethodGet, b.url+ordersPath+"?offset=-1&x=%2F", "", "Streamshift-Hops: 99", "Streamshift-Route-Epoch: 99",
		"Connection: X-Hop", "X-Hop: 1", "X-End: 2", "Authorization: Bearer t", "Cookie: t", "User-Agent: me")
	r := <-got
	want := http.Header{
		"Streamshift-Route-Epoch": {"1"}, "Streamshift-Route-Role": {"owner"}, "X-End": {"2"}, "X-Forwarded-Proto": {"http"},
		"User-Agent": {"me"}, "Accept-Encoding": {"gzip"},
	}
	if diff := cmp.Diff(want, r.Header); diff != "" {
		t.Errorf("what the node is sent differs (-want +got):\n%s", diff)
	}
	if r.URL.RawQuery != "offset=-1&x=%2F" || "http://"+r.Host != b.url {
		t.Errorf("the node sees query %q and host %q", r.URL.RawQuery, r.Host)
	}
	if a.Header.Get("X-Own") != "kept" || a.Header.Get("Streamshift-Node") != "" || a.Header.Get("Keep-Alive") != "" {
		t.Errorf("the client is sent %v", a.Header)
	}
}

func TestAnswersThatBreakOff(t *testing.T) {
	const size = 30_000 // half of it is more than a server holds back before it sends
	b := newBench(t, routingtest.Options{}, func(l *gateway.Limits) { l.ReplyBytes = size })
	b.Start(orders, text, "a")
	var asked, length, breaks atomic.Int64
	b.replace("a", func(w http.ResponseWriter, _ *http.Request) {
		n := length.Load()
		w.Header().Set("Content-Length", fmt.Sprint(n))
		if asked.Add(1) <= breaks.Load() {
			_, _ = fmt.Fprint(w, strings.Repeat("y", int(n)/2))
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
		_, _ = fmt.Fprint(w, strings.Repeat("y", int(n)))
	})
	ask := func(method string, n, broken int64) (routingtest.Answer, error) {
		asked.Store(0)
		length.Store(n)
		breaks.Store(broken)
		return b.client.Try(context.Background(), method, b.url+ordersPath, "x")
	}
	if a, err := ask(http.MethodGet, size, 2); err != nil || a.Status != http.StatusOK || len(a.Body) != size {
		t.Errorf("a read at the limit: %v, %d with %d bytes; want it repeated until it is whole", err, a.Status, len(a.Body))
	}
	if a, err := ask(http.MethodPost, size, 1); err != nil || !strings.Contains(a.Body, "outcome-unknown") {
		t.Errorf("a plain append: %v, %d %s; want it of unknown outcome", err, a.Status, a.Body)
	}
	if a, err := ask(http.MethodGet, size+1, 0); err != nil || len(a.Body) != size+1 {
		t.Errorf("a read beyond the limit: %v, %d bytes; want it passed on", err, len(a.Body))
	}
	if a, err := ask(http.MethodGet, size+1, 1); err == nil {
		t.Errorf("a broken read beyond the limit ends like a whole one, with %d bytes", len(a.Body))
	}
}

func TestRepeatedAfterALostAnswer(t *testing.T) {
	tests := map[string]struct {
		method     string
		body       string
		headers    []string
		wantStatus int
	}{
		"DELETE":                    {method: http.MethodDelete, wantStatus: 204},
		"PUT":                       {method: http.MethodPut, body: "x", wantStatus: 200},
		"an idempotent append":      {method: http.MethodPost, body: "x", headers: producer, wantStatus: 204},
		"closing":                   {method: http.MethodPost, headers: []string{"Stream-Closed: true"}, wantStatus: 204},
		"HEAD":                      {method: http.MethodHead, wantStatus: 200},
		"a plain append is not":     {method: http.MethodPost, body: "x", wantStatus: 503},
		"GET, and there is nothing": {method: http.MethodGet, wantStatus: 200},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, routingtest.Options{}, nil)
			b.Start(orders, text, "a")
			front, asked := b.nodes["a"].Front, atomic.Int64{}
			b.replace("a", func(w http.ResponseWriter, r *http.Request) {
				if asked.Add(1) == 1 {
					front.ServeHTTP(&lost{header: http.Header{}}, r)
					panic(http.ErrAbortHandler)
				}
				front.ServeHTTP(w, r)
			})
			if a := b.client.Do(tt.method, b.url+ordersPath, tt.body, tt.headers...); a.Status != tt.wantStatus {
				t.Errorf("answered %d %s, want %d", a.Status, a.Body, tt.wantStatus)
			}
		})
	}
}

// lost is an answer that never arrives.
type lost struct{ header http.Header }

func (l *lost) Header() http.Header         { return l.header }
func (l *lost) Write(p []byte) (int, error) { return len(p), nil }
func (l *lost) WriteHeader(int)             {}

func TestNodeThatRefusesForAWhile(t *testing.T) {
	b := newBench(t, routingtest.Options{}, nil)
	b.Start(orders, text, "a")
	front, asked := b.nodes["a"].Front, atomic.Int64{}
	var retryAfter atomic.Bool
	b.replace("a", func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) > 2 {
			front.ServeHTTP(w, r)
			return
		}
		if retryAfter.Load() {
			w.Header().Set("Retry-After", "1")
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	retryAfter.Store(true)
	if a := b.client.Do(http.MethodPost, b.url+ordersPath, "x"); a.Status != http.StatusNoContent {
		t.Errorf("a plain append that was not applied is answered %d, want 204 after repetition", a.Status)
	}
	retryAfter.Store(false)
	asked.Store(0)
	if a := b.client.Do(http.MethodPost, b.url+ordersPath, "x"); a.Status != http.StatusServiceUnavailable || asked.Load() != 1 {
		t.Errorf("a plain append of unknown outcome is answered %d after %d tries, want 503 after one", a.Status, asked.Load())
	}
	asked.Store(0)
	if a := b.client.Do(http.MethodPost, b.url+ordersPath, "x", producer...); a.Status != http.StatusOK {
		t.Errorf("an idempotent append of unknown outcome is answered %d, want 200 after repetition", a.Status)
	}
}
