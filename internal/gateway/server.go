package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"github.com/streamshift/streamshift/internal/routing"
)

// ServerConfig is what a Server is made of.
type ServerConfig struct {
	Gateway *Gateway
	// Address is where clients are served.
	Address string
	// TLS is the configuration of a server with TLS; nil: without.
	TLS *tls.Config
	// Delay is for how long requests are taken after readiness was withdrawn, Timeout how long those in flight may take
	// after that.
	Delay, Timeout time.Duration
	Log            logr.Logger
}

// Server serves a gateway to clients, and ends without breaking a request.
type Server struct {
	cfg   ServerConfig
	state atomic.Int32
}

// States of a server.
const (
	serverStarting int32 = iota
	serverServing
	serverEnding
)

// NewServer returns a server that does not listen yet.
func NewServer(cfg ServerConfig) *Server { return &Server{cfg: cfg} }

var (
	errStarting = errors.New("the routing table is not filled yet")
	errEnding   = errors.New("the gateway ends")
)

// Ready is the readiness check: an error as long as the server does not listen, and once it ends.
func (s *Server) Ready(*http.Request) error {
	switch s.state.Load() {
	case serverStarting:
		return errStarting
	case serverEnding:
		return errEnding
	}
	return nil
}

// NeedLeaderElection tells the manager that every gateway serves.
func (*Server) NeedLeaderElection() bool { return false }

// Start listens and serves until ctx ends, and returns when the requests in flight are finished.
func (s *Server) Start(ctx context.Context) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.cfg.Address)
	if err != nil {
		return fmt.Errorf("listening for clients: %w", err)
	}
	server := routing.NewServer(http.HandlerFunc(s.serve))
	// Shutdown begins before the requests that would last are ended: their answers, too, then say that the connection ends.
	server.RegisterOnShutdown(s.cfg.Gateway.Drain)
	ended := make(chan error, 1)
	server.ErrorLog = slog.NewLogLogger(logr.ToSlogHandler(s.cfg.Log.V(1)), slog.LevelInfo)
	go func() { ended <- s.cfg.Gateway.connections.Serve(server, listener, s.cfg.TLS) }()
	s.state.Store(serverServing)
	s.cfg.Log.Info("Serving clients", "address", listener.Addr().String(), "tls", s.cfg.TLS != nil)
	select {
	case err := <-ended:
		return fmt.Errorf("serving clients: %w", err)
	case <-ctx.Done():
	}
	s.state.Store(serverEnding)
	return s.end(server) //nolint:contextcheck // the context has ended: what follows is what it started
}

// serve answers a request. Once the server ends, each answer asks its client to use another connection from now on: one that is closed while
// a request is under way on it leaves the client not knowing what became of that.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if s.state.Load() == serverEnding {
		w.Header().Set("Connection", "close") // by HTTP/2, too: it then asks the client to leave
	}
	s.cfg.Gateway.ServeHTTP(w, r)
}

// end takes requests for a while, by which clients leave, ends what would last, and waits for the rest.
func (s *Server) end(server *http.Server) error {
	s.cfg.Log.Info("Ending: not ready any more")
	if s.cfg.Delay > 0 {
		<-time.After(s.cfg.Delay)
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Timeout)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		_ = server.Close()
		return fmt.Errorf("finishing requests: %w", err)
	}
	return nil
}
