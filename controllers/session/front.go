package session

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"github.com/streamshift/streamshift/internal/routing"
)

// Front serves the node's streams over HTTP while the agent runs, and ends in order: sessions are closed first, so that
// every request is answered done or not applied, then the requests that wait are told so, then the server ends.
type Front struct {
	Address string
	// TLS is the configuration of a server with TLS; nil: without.
	TLS     *tls.Config
	Handler http.Handler
	// Connections bounds the connections that are open.
	Connections *routing.Connections
	Sessions    *Reconciler
	StopTimeout time.Duration
	Log         logr.Logger

	serving atomic.Bool
}

// Check is a readiness check: requests are taken.
func (f *Front) Check(*http.Request) error {
	if !f.serving.Load() {
		return errors.New("the node does not serve streams")
	}
	return nil
}

// Start implements manager.Runnable.
func (f *Front) Start(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", f.Address)
	if err != nil {
		return fmt.Errorf("listening for requests: %w", err)
	}
	waiting, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	server := routing.NewServer(f.Handler)
	server.BaseContext = func(net.Listener) context.Context { return waiting }
	ended := make(chan error, 1)
	go func() { ended <- f.Connections.Serve(server, listener, f.TLS) }()
	f.serving.Store(true)
	f.Log.Info("Serving streams", "address", listener.Addr().String(), "tls", f.TLS != nil)
	select {
	case err := <-ended:
		return fmt.Errorf("serving requests: %w", err)
	case <-ctx.Done():
	}
	f.serving.Store(false)
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.StopTimeout)
	defer cancel()
	f.Sessions.Stop(stop)
	release()
	if err := server.Shutdown(stop); err != nil {
		f.Log.Error(err, "Ending with requests unanswered")
		return errors.Join(server.Close(), nil)
	}
	return nil
}
