package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/gateway"
	"github.com/streamshift/streamshift/internal/routing"
	"github.com/streamshift/streamshift/internal/routing/routingtest"
)

// collect reads an event stream to its normal end.
func collect(t *testing.T, groups <-chan group, failed <-chan error) []group {
	t.Helper()
	var all []group
	for g := range groups {
		all = append(all, g)
	}
	select {
	case err := <-failed:
		t.Errorf("the event stream broke: %v", err)
	default:
	}
	return all
}

const groupFormat = "event: data\ndata:%s\n\nevent: control\ndata:{\"streamNextOffset\":%q,\"streamCursor\":\"7\"}\n\n"

func TestEventsAreCarriedOnInWholeGroups(t *testing.T) {
	b := newBench(t, routingtest.Options{}, nil)
	b.Start(orders, text, "a")
	parts := []string{
		fmt.Sprintf(groupFormat, "one", "1") + "event: data\ndata:cut off\n\n",
		": a comment\n\n" + fmt.Sprintf(groupFormat, "two", "2") + "event: control\ndata:{\"streamNext",
		"", // ends normally, and at once
		"event: control\ndata:{\"streamNextOffset\":\"2\",\"streamClosed\":true}\n\n",
	}
	var asked []string
	b.replace("a", func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("offset")+" "+r.URL.Query().Get("cursor"))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprint(w, parts[len(asked)-1])
		if len(asked) < 3 {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	})
	groups, failed := events(t.Context(), t, b.url+ordersPath+"?offset=-1&live=sse")
	want := []group{{Data: "one", HasData: true, Offset: "1"}, {Data: "two", HasData: true, Offset: "2"}, {Offset: "2", StreamClosed: true}}
	if diff := cmp.Diff(want, collect(t, groups, failed)); diff != "" {
		t.Errorf("the groups differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"-1 ", "1 7", "2 7", "2 7"}, asked); diff != "" {
		t.Errorf("what the nodes are asked differs (-want +got):\n%s", diff)
	}
}

func TestEventsEndNormally(t *testing.T) {
	limits := func(change func(l *gateway.Limits)) func(l *gateway.Limits) { return change }
	tests := map[string]struct {
		limits func(l *gateway.Limits)
		end    func(b *bench)
	}{
		"when they lasted long enough": {limits: limits(func(l *gateway.Limits) { l.EventStream = 50 * time.Millisecond }), end: func(*bench) {}},
		"when the gateway ends":        {end: func(b *bench) { b.gateway.Drain() }},
		"when nobody can go on":        {limits: limits(func(l *gateway.Limits) { l.ParkTimeout = 20 * time.Millisecond }), end: func(b *bench) { b.nodes["a"].Kill() }},
		"when the stream is deleted": {end: func(b *bench) {
			b.client.Do(http.MethodDelete, b.url+ordersPath, "")
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, routingtest.Options{}, tt.limits)
			b.Start(orders, text, "a")
			begun := time.Now()
			groups, failed := events(t.Context(), t, b.url+ordersPath+"?offset=-1&live=sse")
			if g := <-groups; !g.UpToDate {
				t.Errorf("the first group is %+v, want one that is up to date", g)
			}
			tt.end(b)
			for _, g := range collect(t, groups, failed) {
				if g.HasData {
					t.Errorf("data %q, of a stream without any", g.Data)
				}
			}
			if took := time.Since(begun); took < time.Second {
				t.Errorf("the event stream ended after %s: clients take that for the end of the stream", took)
			}
		})
	}
}

func TestEventsWithAGroupBeyondTheLimitEnd(t *testing.T) {
	const limit = 200_000
	b := newBench(t, routingtest.Options{}, func(l *gateway.Limits) { l.GroupBytes = limit })
	b.Start(orders, text, "a")
	overhead := len(fmt.Sprintf(groupFormat, "", "1"))
	b.replace("a", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, groupFormat, strings.Repeat("x", limit-overhead), "1")
		_, _ = fmt.Fprintf(w, groupFormat, strings.Repeat("x", limit-overhead+1), "2")
	})
	groups, failed := events(t.Context(), t, b.url+ordersPath+"?offset=-1&live=sse")
	all := collect(t, groups, failed)
	if len(all) != 1 || all[0].Offset != "1" {
		t.Errorf("%d groups arrived, want the one at the limit", len(all))
	}
}

func TestEventsOfAStreamThatDoesNotExist(t *testing.T) {
	b := newBench(t, routingtest.Options{}, nil)
	if a := b.client.Do(http.MethodGet, b.url+ordersPath+"?offset=-1&live=sse", ""); a.Status != http.StatusNotFound {
		t.Errorf("answered %d, want 404", a.Status)
	}
}

// A long-poll that was held long enough, at however many nodes, and one at a gateway that ends, is answered that nothing
// came, or with what came.
func TestLongPollIsAnsweredInTime(t *testing.T) {
	for kind, content := range map[string]string{"text/plain": "", "application/json": "[1]"} {
		for name, change := range map[string]struct {
			limits func(l *gateway.Limits)
			end    func(b *bench)
		}{
			"held long enough":      {limits: func(l *gateway.Limits) { l.LongPoll = 100 * time.Millisecond }},
			"while the gateway end": {end: func(b *bench) { b.gateway.Drain() }},
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				b := newBench(t, routingtest.Options{}, change.limits)
				b.Start(orders, durablestreams.Settings{ContentType: kind}, "a")
				front, asked := b.nodes["a"].Front, atomic.Int64{}
				b.replace("a", func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Query().Has("live") {
						asked.Add(1)
					}
					front.ServeHTTP(w, r)
				})
				var tail string
				if content != "" {
					tail = b.client.Do(http.MethodPost, b.url+ordersPath, content, "Content-Type: "+kind).Header.Get("Stream-Next-Offset")
				} else {
					tail = b.client.Do(http.MethodHead, b.url+ordersPath, "").Header.Get("Stream-Next-Offset")
				}
				poll := b.client.Go(http.MethodGet, b.url+ordersPath+"?live=long-poll&offset="+tail, "")
				if change.end != nil {
					routingtest.Eventually(t, "the node holds it", func() bool { return asked.Load() == 1 })
					change.end(b)
				}
				a := poll()
				if a.Status != http.StatusNoContent || a.Header.Get("Stream-Next-Offset") != tail || a.Header.Get("Stream-Up-To-Date") != "true" ||
					a.Header.Get("Stream-Cursor") == "" || a.Header.Get("Content-Type") != "" {
					t.Errorf("answered %d %v, want 204 at %s", a.Status, a.Header, tail)
				}
			})
		}
	}
}

// A stream that is transferred again and again holds a long-poll no longer than one that stays.
func TestEachNodeIsToldForHowLongALongPollWasHeld(t *testing.T) {
	b := newBench(t, routingtest.Options{}, nil)
	b.Start(orders, text, "a")
	held := make(chan time.Duration, 8)
	for _, node := range []string{"a", "b"} {
		front := b.nodes[node].Front
		b.replace(node, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("live") {
				held <- routing.ParseHeld(r.Header)
			}
			front.ServeHTTP(w, r)
		})
	}
	tail := b.client.Do(http.MethodHead, b.url+ordersPath, "").Header.Get("Stream-Next-Offset")
	poll := b.client.Go(http.MethodGet, b.url+ordersPath+"?live=long-poll&offset="+tail, "", routing.HeaderHeld+": 1h")
	first := <-held
	if first >= time.Hour {
		t.Fatalf("the first node is told %v: that is the client's", first)
	}
	b.Transfer(orders, "b")
	if second := <-held; second <= first || second >= time.Hour {
		t.Errorf("the second node is told %v, the first one was told %v", second, first)
	}
	b.client.Do(http.MethodPost, b.url+ordersPath, "something")
	if a := poll(); a.Status != http.StatusOK {
		t.Errorf("answered %d, want 200", a.Status)
	}
}

// "now" is when the client asked, not when the next node was asked.
func TestLongPollFromNowMissesNothing(t *testing.T) {
	b := newBench(t, routingtest.Options{}, nil)
	b.Start(orders, text, "a")
	b.client.Do(http.MethodPost, b.url+ordersPath, "before;")
	var asked atomic.Int64
	front := b.nodes["a"].Front
	b.replace("a", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("live") {
			asked.Add(1)
		}
		front.ServeHTTP(w, r)
	})
	poll := b.client.Go(http.MethodGet, b.url+ordersPath+"?live=long-poll&offset=now", "")
	routingtest.Eventually(t, "the node holds it", func() bool { return asked.Load() == 1 })
	b.Unfeed() // the gateway learns late that the stream moves
	b.TakeOver(orders, "b")
	if a := b.client.Do(http.MethodPost, b.nodes["b"].URL+ordersPath, "after;"); a.Status != http.StatusNoContent {
		t.Fatalf("the append is answered %d", a.Status)
	}
	b.nodes["a"].Kill()
	b.Feed(b.table)
	if a := poll(); a.Status != http.StatusOK || a.Body != "after;" {
		t.Errorf("answered %d %q, want what was appended in between", a.Status, a.Body)
	}
	if a := b.client.Do(http.MethodGet, b.url+otherPath+"?live=long-poll&offset=now", ""); a.Status != http.StatusNotFound {
		t.Errorf("of a stream that does not exist: answered %d, want 404", a.Status)
	}
}

func TestServerEndsWithoutBreakingARequest(t *testing.T) {
	b := newBench(t, routingtest.Options{}, nil)
	b.Start(orders, text, "a")
	b.Make(other, text) // not placed: requests for it wait
	address := make(chan string, 1)
	server := gateway.NewServer(gateway.ServerConfig{
		Gateway: b.gateway, Address: "127.0.0.1:0", Timeout: 10 * time.Second,
		Log: logr.New(&addressSink{address: address}),
	})
	if err := server.Ready(nil); err == nil {
		t.Error("a server that has not started is ready")
	}
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- server.Start(ctx) }()
	url := "http://" + <-address
	if err := server.Ready(nil); err != nil {
		t.Errorf("a server that serves is not ready: %v", err)
	}
	groups, failed := events(t.Context(), t, url+ordersPath+"?offset=-1&live=sse")
	<-groups
	waiting := b.client.Go(http.MethodPost, url+otherPath, "x")
	routingtest.Eventually(t, "it waits", func() bool { return b.parked() == 1 })
	end()
	routingtest.Eventually(t, "it is not ready", func() bool { return server.Ready(nil) != nil })
	collect(t, groups, failed)
	b.Place(other, "a")
	b.Open(other)
	if a := waiting(); a.Status != http.StatusNoContent {
		t.Errorf("the append that waited is answered %d, want 204", a.Status)
	}
	if err := <-ended; err != nil {
		t.Errorf("ending: %v", err)
	}
}

// Clients that write without a pause, on connections that they keep, learn from an answer that they must leave, and are never cut off. Once the
// server says that it is not ready, their new connections go elsewhere, as a load balancer would have it.
func TestAServerThatEndsCutsNobodyOff(t *testing.T) {
	for name, protocol := range map[string]func(*http.Protocols, bool){
		"HTTP/1.1": (*http.Protocols).SetHTTP1,
		"HTTP/2":   (*http.Protocols).SetUnencryptedHTTP2,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, routingtest.Options{}, nil)
			b.Start(orders, text, "a")
			address := make(chan string, 1)
			server := gateway.NewServer(gateway.ServerConfig{
				Gateway: b.gateway, Address: "127.0.0.1:0", Delay: time.Second, Timeout: 10 * time.Second,
				Log: logr.New(&addressSink{address: address}),
			})
			ctx, end := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- server.Start(ctx) }()
			here, elsewhere := <-address, strings.TrimPrefix(b.url, "http://")

			transport := &http.Transport{Protocols: &http.Protocols{}, MaxIdleConnsPerHost: writersAtOnce}
			protocol(transport.Protocols, true)
			transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
				to := here
				if server.Ready(nil) != nil {
					to = elsewhere
				}
				return (&net.Dialer{}).DialContext(ctx, network, to)
			}
			defer transport.CloseIdleConnections()
			writing, stop := context.WithCancel(t.Context())
			defer stop()
			var writers sync.WaitGroup
			var written atomic.Int64
			for range writersAtOnce {
				writers.Go(func() {
					for writing.Err() == nil {
						if err := post(t.Context(), transport, b.url+ordersPath); err != nil {
							t.Errorf("cut off: %v", err)
							return
						}
						written.Add(1)
					}
				})
			}
			routingtest.Eventually(t, "all write", func() bool { return written.Load() > 10*writersAtOnce })
			end()
			if err := <-ended; err != nil {
				t.Errorf("ending: %v", err)
			}
			stop()
			writers.Wait()
		})
	}
}

// writersAtOnce write to a server that ends.
const writersAtOnce = 8

// post appends, once.
func post(ctx context.Context, transport *http.Transport, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("x"))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "text/plain")
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		return fmt.Errorf("answered %d", response.StatusCode)
	}
	return nil
}

// addressSink learns from the log where a server listens.
type addressSink struct{ address chan string }

func (*addressSink) Init(logr.RuntimeInfo)            {}
func (*addressSink) Enabled(int) bool                 { return true }
func (*addressSink) Error(error, string, ...any)      {}
func (s *addressSink) WithValues(...any) logr.LogSink { return s }
func (s *addressSink) WithName(string) logr.LogSink   { return s }
func (s *addressSink) Info(_ int, _ string, pairs ...any) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if text, ok := pairs[i+1].(string); ok && pairs[i] == "address" {
			s.address <- text
		}
	}
}
