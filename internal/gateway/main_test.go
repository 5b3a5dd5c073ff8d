package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/gateway"
	"github.com/streamshift/streamshift/internal/routing"
	"github.com/streamshift/streamshift/internal/routing/routingtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	orders = routing.Stream{Namespace: "shop", Name: "orders"}
	other  = routing.Stream{Namespace: "shop", Name: "other"}
	text   = durablestreams.Settings{ContentType: "text/plain"}
)

const (
	ordersPath = "/v1/stream/shop/orders"
	otherPath  = "/v1/stream/shop/other"
)

// bench is a cluster with a gateway in front of it.
type bench struct {
	*routingtest.Cluster
	nodes   map[string]*routingtest.Node
	table   *routing.Table
	gateway *gateway.Gateway
	server  *http.Server
	url     string
	client  *routingtest.Client
}

// newBench starts nodes a, b and c and a gateway whose table follows the register.
func newBench(t *testing.T, options routingtest.Options, limit func(l *gateway.Limits)) *bench {
	t.Helper()
	b := &bench{Cluster: routingtest.New(t, options), nodes: map[string]*routingtest.Node{}, table: routing.NewTable()}
	for _, name := range []string{"a", "b", "c"} {
		b.nodes[name] = b.AddNode(name)
	}
	b.Feed(b.table)
	limits := gateway.DefaultLimits()
	if limit != nil {
		limit(&limits)
	}
	transport := gateway.NewTransport(nil)
	b.gateway = gateway.New(gateway.Config{
		Table: b.table, Transport: transport, DefaultNamespace: "default", Limits: limits, Now: time.Now, Log: logr.Discard(),
	})
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listening: %v", err)
	}
	b.server = routing.NewServer(b.gateway)
	go func() { _ = b.server.Serve(listener) }()
	b.url = "http://" + listener.Addr().String()
	t.Cleanup(func() {
		_ = b.server.Close()
		transport.CloseIdleConnections()
	})
	b.client = routingtest.NewClient(t)
	return b
}

// group is one group of an event stream.
type group struct {
	Data                   string
	HasData                bool
	Offset                 string
	UpToDate, StreamClosed bool
}

// events opens an event stream and sends each group to a channel, which is closed where the stream ended normally. The
// error channel has whatever was not right.
func events(ctx context.Context, t *testing.T, url string) (groups <-chan group, failed <-chan error) {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	out, errs := make(chan group), make(chan error, 1)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatalf("building a request: %v", err)
	}
	response, err := transport.RoundTrip(r) //nolint:bodyclose // closed where it is read
	if err != nil {
		t.Fatalf("opening an event stream: %v", err)
	}
	if response.StatusCode != http.StatusOK {
		t.Fatalf("opening an event stream: status %d", response.StatusCode)
	}
	go func() {
		defer close(out)
		defer func() { _ = response.Body.Close() }()
		in := bufio.NewReader(response.Body)
		for {
			g, err := readGroup(in)
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				errs <- err
				return
			}
			select {
			case out <- g:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, errs
}

// readGroup reads up to a control event. The error is io.EOF only between groups.
func readGroup(in *bufio.Reader) (group, error) {
	var g group
	var event string
	var lines []string
	for first := true; ; first = false {
		line, err := in.ReadString('\n')
		if err != nil {
			if first && line == "" {
				return group{}, err
			}
			return group{}, io.ErrUnexpectedEOF
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "event":
			event = value[1:]
		case "data":
			lines = append(lines, value)
		case "":
			if line != "" || event == "" { // a comment, or the end of nothing
				continue
			}
			joined := strings.Join(lines, "\n")
			lines = nil
			if event == "data" {
				g.Data, g.HasData, event = joined, true, ""
				continue
			}
			var c struct {
				StreamNextOffset       string
				UpToDate, StreamClosed bool
			}
			err := json.Unmarshal([]byte(joined), &c)
			g.Offset, g.UpToDate, g.StreamClosed = c.StreamNextOffset, c.UpToDate, c.StreamClosed
			return g, err
		}
	}
}
