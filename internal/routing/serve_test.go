package routing_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/routing"
)

// stuckLog never stores anything.
type stuckLog struct{ durablestreams.Log }

func (stuckLog) Info() engine.Info { return engine.Info{Created: true} }

func (stuckLog) Append(ctx context.Context, _ engine.Append) (engine.Appended, error) {
	<-ctx.Done()
	return engine.Appended{}, ctx.Err()
}

// stuckDirectory has one stream, which is open here and stuck.
type stuckDirectory struct{ routing.Directory }

func (stuckDirectory) Situation(routing.Stream) (routing.Situation, bool, <-chan struct{}) {
	return routing.Situation{UID: "u", Epoch: 1, Owner: "a", Log: stuckLog{}, Settings: text}, true, nil
}

// A server that ends cancels its requests. An append that is in flight then must not look like one that was stored.
func TestNodeThatEndsAcknowledgesNothing(t *testing.T) {
	protocol, err := durablestreams.New(durablestreams.Config{
		Limits: durablestreams.DefaultLimits(), Clock: time.Now, Jitter: rand.Int64N, Log: logr.Discard(),
	})
	if err != nil {
		t.Fatalf("making the protocol's handler: %v", err)
	}
	node := routing.NewNode(routing.NodeConfig{
		Node: "a", DefaultNamespace: "default", Directory: stuckDirectory{}, Protocol: protocol,
		Bodies: durablestreams.NewBodies(100, 100, time.Second, time.Now), Now: time.Now, Log: logr.Discard(),
	})
	ctx, end := context.WithCancel(t.Context())
	end()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, ordersPath, strings.NewReader("one"))
	r.Header.Set("Content-Type", "text/plain")
	w := httptest.NewRecorder()
	node.ServeHTTP(w, r)
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "outcome-unknown") {
		t.Errorf("the append is answered %d %s, want 503 of unknown outcome", w.Code, w.Body)
	}
}
