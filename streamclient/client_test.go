package streamclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/routing/routingtest"
	"github.com/streamshift/streamshift/streamclient"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newClient returns a client of a real node, which creates streams at once.
func newClient(t *testing.T) *streamclient.Client {
	t.Helper()
	limits := durablestreams.DefaultLimits()
	limits.LongPoll = 50 * time.Millisecond
	node := routingtest.New(t, routingtest.Options{PlaceOn: "a", Limits: limits}).AddNode("a")
	return clientOf(t, node.URL, streamclient.Options{})
}

func clientOf(t *testing.T, url string, options streamclient.Options) *streamclient.Client {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	options.HTTP = &http.Client{Transport: transport}
	return streamclient.New(url, options)
}

func TestLifeOfAStream(t *testing.T) {
	ctx := t.Context()
	s := newClient(t).Stream("shop", "orders/2026 ü")
	text := streamclient.AppendOptions{ContentType: "text/plain"}
	if _, err := s.Append(ctx, []byte("x"), text); !errors.Is(err, streamclient.ErrNotFound) {
		t.Errorf("appending to nothing: %v, want ErrNotFound", err)
	}
	create := streamclient.CreateOptions{ContentType: "text/plain", Content: []byte("one,"), TTL: time.Hour}
	for _, wantExisted := range []bool{false, true} {
		created, err := s.Create(ctx, create)
		if err != nil || created.Existed != wantExisted {
			t.Errorf("Create = %+v, %v; want existed %t", created, err, wantExisted)
		}
	}
	if _, err := s.Create(ctx, streamclient.CreateOptions{}); !errors.Is(err, streamclient.ErrConflict) {
		t.Errorf("creating with another configuration: %v, want ErrConflict", err)
	}
	next, err := s.Append(ctx, []byte("two"), text)
	if err != nil {
		t.Fatalf("Append: %v", err)
	}
	if _, err := s.Append(ctx, []byte("{}"), streamclient.AppendOptions{ContentType: "application/json"}); !errors.Is(err, streamclient.ErrConflict) {
		t.Errorf("appending another content type: %v, want ErrConflict", err)
	}
	if _, err := s.Append(ctx, nil, text); !errors.Is(err, streamclient.ErrInvalid) {
		t.Errorf("appending nothing: %v, want ErrInvalid", err)
	}
	chunk, err := s.Read(ctx, streamclient.Beginning)
	want := streamclient.Chunk{Data: []byte("one,two"), Next: next, UpToDate: true}
	if diff := cmp.Diff(want, chunk); err != nil || diff != "" {
		t.Errorf("Read: %v, differs (-want +got):\n%s", err, diff)
	}
	end, err := s.Close(ctx)
	if err != nil || end != next {
		t.Errorf("Close = %s, %v; want %s", end, err, next)
	}
	info, err := s.Head(ctx)
	wantInfo := streamclient.Info{ContentType: "text/plain", Next: next, Closed: true, TTL: time.Hour}
	if diff := cmp.Diff(wantInfo, info); err != nil || diff != "" {
		t.Errorf("Head: %v, differs (-want +got):\n%s", err, diff)
	}
	_, err = s.Append(ctx, []byte("three"), text)
	if !errors.Is(err, streamclient.ErrStreamClosed) {
		t.Errorf("appending to a closed stream: %v, want ErrStreamClosed", err)
	}
	var answer *streamclient.Error
	if !errors.As(err, &answer) || answer.Type != "stream-closed" || answer.Status != http.StatusConflict {
		t.Errorf("the server's answer is %+v", answer)
	}
	if err := s.Delete(ctx); err != nil {
		t.Errorf("Delete: %v", err)
	}
	if err := s.Delete(ctx); !errors.Is(err, streamclient.ErrNotFound) {
		t.Errorf("deleting again: %v, want ErrNotFound", err)
	}
}

func TestFollow(t *testing.T) {
	for name, live := range map[string]streamclient.Live{"long-poll": streamclient.LongPoll, "events": streamclient.Events} {
		for kind, records := range map[string][]string{
			"text/plain":               {"one\n", "two\n\n", " three"},
			"application/octet-stream": {"\x00\xff", "\r\n"},
		} {
			t.Run(name+" of "+kind, func(t *testing.T) {
				ctx := t.Context()
				s := newClient(t).Stream("shop", "orders")
				if _, err := s.Create(ctx, streamclient.CreateOptions{ContentType: kind}); err != nil {
					t.Fatalf("Create: %v", err)
				}
				var got strings.Builder
				sent := 0
				for chunk, err := range s.Follow(ctx, streamclient.Beginning, live) {
					if err != nil {
						t.Fatalf("Follow: %v", err)
					}
					got.Write(chunk.Data)
					switch {
					case !chunk.UpToDate || chunk.Closed:
					case sent < len(records):
						if _, err := s.Append(ctx, []byte(records[sent]), streamclient.AppendOptions{ContentType: kind}); err != nil {
							t.Fatalf("Append: %v", err)
						}
						sent++
					default:
						if _, err := s.Close(ctx); err != nil {
							t.Fatalf("Close: %v", err)
						}
					}
				}
				if want := strings.Join(records, ""); got.String() != want {
					t.Errorf("followed %q, want %q", got.String(), want)
				}
			})
		}
	}
}

func TestFollowEndsWithItsContext(t *testing.T) {
	for name, live := range map[string]streamclient.Live{"long-poll": streamclient.LongPoll, "events": streamclient.Events} {
		t.Run(name, func(t *testing.T) {
			s := newClient(t).Stream("shop", "orders")
			if _, err := s.Create(t.Context(), streamclient.CreateOptions{ContentType: "text/plain", Content: []byte("x")}); err != nil {
				t.Fatalf("Create: %v", err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var last error
			for _, err := range s.Follow(ctx, streamclient.Beginning, live) {
				last = err
				cancel()
			}
			if !errors.Is(last, context.Canceled) {
				t.Errorf("the last error is %v, want context.Canceled", last)
			}
		})
	}
}

// faulty stands between a client and a real node, and breaks what a test wants broken.
type faulty struct {
	node   http.Handler
	count  atomic.Int64
	faults atomic.Pointer[faults]
}

// faults are asked with the number of the request.
type faults struct {
	// before may answer in the node's place; nil: never.
	before func(n int64, w http.ResponseWriter) (answered bool)
	// lose tells whether the node's answer gets lost; nil: never.
	lose func(n int64) bool
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, now := f.count.Add(1), f.faults.Load()
	if now.before != nil && now.before(n, w) {
		return
	}
	if now.lose != nil && now.lose(n) {
		f.node.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	}
	f.node.ServeHTTP(w, r)
}

func newFaulty(t *testing.T, content string, options streamclient.Options) (*faulty, *streamclient.Stream) {
	t.Helper()
	cluster := routingtest.New(t, routingtest.Options{PlaceOn: "a"})
	f := &faulty{node: cluster.AddNode("a").Front}
	f.faults.Store(&faults{})
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	s := clientOf(t, server.URL, options).Stream("shop", "orders")
	if _, err := s.Create(t.Context(), streamclient.CreateOptions{ContentType: content}); err != nil {
		t.Fatalf("Create: %v", err)
	}
	f.count.Store(0)
	return f, s
}

func unavailable(n int64, w http.ResponseWriter) bool {
	if n > 2 {
		return false
	}
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
	return true
}

func TestAppendIsRepeatedWhereThatIsSafe(t *testing.T) {
	text := streamclient.AppendOptions{ContentType: "text/plain"}
	tests := map[string]struct {
		before  func(n int64, w http.ResponseWriter) bool
		lose    func(n int64) bool
		options streamclient.Options
		wantErr error
		want    string
	}{
		"the server promises that it was not applied": {before: unavailable, want: "one"},
		"the same, and nothing is to be repeated": {
			before: unavailable, options: streamclient.Options{RetryFor: -1}, wantErr: streamclient.ErrUnavailable,
		},
		"the answer is lost": {lose: func(n int64) bool { return n == 1 }, wantErr: streamclient.ErrOutcomeUnknown, want: "one"},
		"the server does not know the outcome": {
			before: func(n int64, w http.ResponseWriter) bool {
				if n == 1 {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
				return n == 1
			},
			wantErr: streamclient.ErrOutcomeUnknown,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, s := newFaulty(t, "text/plain", tt.options)
			f.faults.Store(&faults{before: tt.before, lose: tt.lose})
			if _, err := s.Append(t.Context(), []byte("one"), text); !errors.Is(err, tt.wantErr) {
				t.Errorf("Append: %v, want %v", err, tt.wantErr)
			}
			f.faults.Store(&faults{})
			chunk, err := s.Read(t.Context(), streamclient.Beginning)
			if err != nil || string(chunk.Data) != tt.want {
				t.Errorf("the stream holds %q, %v; want %q", chunk.Data, err, tt.want)
			}
		})
	}
}

// A producer stores each message once and in order although requests and answers are lost and the server is away.
func TestProducerStoresOnce(t *testing.T) {
	for _, kind := range []string{"text/plain", "application/json"} {
		t.Run(kind, func(t *testing.T) {
			f, s := newFaulty(t, kind, streamclient.Options{})
			broken := &faults{lose: func(n int64) bool { return n%5 == 0 }}
			broken.before = func(n int64, w http.ResponseWriter) bool {
				switch n % 7 {
				case 1:
					w.WriteHeader(http.StatusServiceUnavailable)
				case 3:
					panic(http.ErrAbortHandler)
				default:
					return false
				}
				return true
			}
			f.faults.Store(broken)
			p := s.Producer(streamclient.ProducerOptions{ID: "p", ContentType: kind, BatchBytes: 40, Waiting: 100})
			const senders, messages = 4, 25
			var done sync.WaitGroup
			for sender := range senders {
				done.Go(func() {
					for i := range messages {
						if _, err := p.Send(t.Context(), fmt.Appendf(nil, "[%d,%d]", sender, i)); err != nil {
							t.Errorf("Send: %v", err)
							return
						}
					}
				})
			}
			done.Wait()
			if err := p.Close(t.Context()); err != nil {
				t.Errorf("Close: %v", err)
			}
			if _, err := p.Send(t.Context(), []byte("1")); !errors.Is(err, streamclient.ErrProducerEnded) {
				t.Errorf("sending after Close: %v, want ErrProducerEnded", err)
			}
			f.faults.Store(&faults{})
			chunk, err := s.Read(t.Context(), streamclient.Beginning)
			if err != nil {
				t.Fatalf("Read: %v", err)
			}
			checkOrder(t, string(chunk.Data), senders, messages)
		})
	}
}

func checkOrder(t *testing.T, content string, senders, messages int) {
	t.Helper()
	next := make([]int, senders)
	content = strings.NewReplacer("[[", "[", "]]", "]", "],[", "][").Replace(content)
	for record := range strings.SplitSeq(strings.TrimSuffix(content, "]"), "]") {
		var sender, i int
		if _, err := fmt.Sscanf(record, "[%d,%d", &sender, &i); err != nil {
			t.Fatalf("the stream holds %q: %v", record, err)
		}
		if i != next[sender] {
			t.Fatalf("after message %d of sender %d comes %d", next[sender]-1, sender, i)
		}
		next[sender]++
	}
	for sender, n := range next {
		if n != messages {
			t.Errorf("sender %d has %d messages stored, want %d", sender, n, messages)
		}
	}
}

func TestProducerEndsWhereOrderCannotBeKept(t *testing.T) {
	f, s := newFaulty(t, "text/plain", streamclient.Options{})
	newer := s.Producer(streamclient.ProducerOptions{ID: "p", Epoch: 2, ContentType: "text/plain"})
	if _, err := newer.Send(t.Context(), []byte("x")); err != nil {
		t.Fatalf("Send: %v", err)
	}
	older := s.Producer(streamclient.ProducerOptions{ID: "p", Epoch: 1, ContentType: "text/plain"})
	if _, err := older.Send(t.Context(), []byte("y")); !errors.Is(err, streamclient.ErrStaleProducer) {
		t.Errorf("sending at an older epoch: %v, want ErrStaleProducer", err)
	}
	if _, err := older.Send(t.Context(), []byte("z")); !errors.Is(err, streamclient.ErrProducerEnded) || !errors.Is(err, streamclient.ErrStaleProducer) {
		t.Errorf("sending after that: %v, want ErrProducerEnded and why", err)
	}
	if err := older.Close(t.Context()); !errors.Is(err, streamclient.ErrProducerEnded) {
		t.Errorf("closing after that: %v, want ErrProducerEnded", err)
	}
	f.faults.Store(&faults{before: func(int64, http.ResponseWriter) bool { panic(http.ErrAbortHandler) }})
	waiting, cancel := context.WithCancel(t.Context())
	sent := make(chan error, 1)
	go func() {
		_, err := newer.Send(waiting, []byte("y"))
		sent <- err
	}()
	routingtest.Eventually(t, "the batch is tried", func() bool { return f.count.Load() > 3 })
	cancel()
	if err := <-sent; !errors.Is(err, streamclient.ErrOutcomeUnknown) {
		t.Errorf("giving up on a message: %v, want ErrOutcomeUnknown", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := newer.Close(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("closing without waiting: %v, want context.Canceled", err)
	}
}

// Followers take up again where a connection broke, in the middle of a group or between two.
func TestFollowThroughBrokenConnections(t *testing.T) {
	const group = "event: data\ndata:%s\n\nevent: control\ndata:{\"streamNextOffset\":%q,\"streamCursor\":\"1\"}\n\n"
	parts := []string{
		fmt.Sprintf(group, "one", "1") + "event: data\ndata:lost\n\n",
		fmt.Sprintf(group, "two", "2") + "event: control\ndata:{\"streamNex",
		fmt.Sprintf(group, "three", "3"),
		"event: control\ndata:{\"streamNextOffset\":\"3\",\"streamClosed\":true}\n\n",
	}
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("offset"))
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, parts[len(asked)-1])
		if len(asked) < 3 {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(server.Close)
	var got []string
	for chunk, err := range clientOf(t, server.URL, streamclient.Options{}).Stream("a", "b").Follow(t.Context(), streamclient.Beginning, streamclient.Events) {
		if err != nil {
			t.Fatalf("Follow: %v", err)
		}
		got = append(got, string(chunk.Data))
	}
	if diff := cmp.Diff([]string{"one", "two", "three", ""}, got); diff != "" {
		t.Errorf("chunks differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"-1", "1", "2", "3"}, asked); diff != "" {
		t.Errorf("offsets asked for differ (-want +got):\n%s", diff)
	}
}

func TestRefusedConnectionsAreRepeated(t *testing.T) {
	cluster := routingtest.New(t, routingtest.Options{PlaceOn: "a"})
	node := cluster.AddNode("a")
	s := clientOf(t, node.URL, streamclient.Options{}).Stream("shop", "orders")
	if _, err := s.Create(t.Context(), streamclient.CreateOptions{ContentType: "text/plain"}); err != nil {
		t.Fatalf("Create: %v", err)
	}
	node.Cut()
	// A client of its own: one that has a connection could be sending on it just as it breaks.
	refused := make(chan struct{})
	var dials atomic.Int64
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil && dials.Add(1) == 2 {
			close(refused)
		}
		return conn, err
	}}
	t.Cleanup(transport.CloseIdleConnections)
	again := streamclient.New(node.URL, streamclient.Options{HTTP: &http.Client{Transport: transport}}).Stream("shop", "orders")
	appended := make(chan error, 1)
	go func() {
		_, err := again.Append(t.Context(), []byte("x"), streamclient.AppendOptions{ContentType: "text/plain"})
		appended <- err
	}()
	<-refused
	node.Serve(node.Front)
	if err := <-appended; err != nil {
		t.Errorf("an append while the server restarts: %v", err)
	}
}
