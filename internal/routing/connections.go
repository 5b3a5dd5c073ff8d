package routing

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// DefaultConnections is how many connections a server keeps open where nothing else is configured. Each takes a file descriptor,
// and some 30 KiB while it waits.
const DefaultConnections = 20_000

const (
	// refusalsAtOnce bounds the refused connections that are waited for, so that their clients see the answer; those beyond it are
	// closed at once.
	refusalsAtOnce = 64
	// refusalTimeout is how long one is waited for.
	refusalTimeout = time.Second
	// refusal is what a client is told beyond the limit. It has sent nothing that was read, so nothing is applied.
	refusal = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: " + retryAfterSeconds + "\r\nCache-Control: no-store\r\n" +
		"Content-Type: application/problem+json\r\nContent-Length: 139\r\n\r\n" +
		`{"type":"https://streamshift.io/problems/overloaded","title":"Service Unavailable","status":503,"detail":"Too many connections are open."}` + "\n"
)

// Connections bounds the connections of one server.
type Connections struct {
	limit    int64
	open     atomic.Int64
	refused  atomic.Int64
	refusing chan struct{}
}

// NewConnections returns a bound; 0 stands for DefaultConnections.
func NewConnections(limit int) *Connections {
	if limit == 0 {
		limit = DefaultConnections
	}
	return &Connections{limit: int64(limit), refusing: make(chan struct{}, refusalsAtOnce)}
}

// Open returns how many connections are open, Refused how many were refused so far.
func (c *Connections) Open() int64 { return c.open.Load() }

// Refused returns how many connections were refused so far.
func (c *Connections) Refused() int64 { return c.refused.Load() }

// Serve serves within the bound until the server ends: with TLS and the configuration given, HTTP/2 where the client knows it; without
// TLS where config is nil.
func (c *Connections) Serve(server *http.Server, listener net.Listener, config *tls.Config) error {
	guarded := c.guard(server, listener)
	if config == nil {
		return server.Serve(guarded) //nolint:wrapcheck // the caller tells http.ErrServerClosed apart
	}
	guarded.mute = true
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	server.Protocols = &protocols
	server.TLSConfig = config
	return server.ServeTLS(guarded, "", "") //nolint:wrapcheck // as above
}

// guard has the bound hold for a server and the listener that it serves.
func (c *Connections) guard(server *http.Server, listener net.Listener) *guardedListener {
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			c.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			c.open.Add(-1)
		case http.StateActive, http.StateIdle:
		}
	}
	return &guardedListener{Listener: listener, connections: c}
}

type guardedListener struct {
	net.Listener
	connections *Connections
	// mute is set where clients beyond the bound cannot be told so, since they expect TLS first.
	mute bool
}

// Accept returns the next connection that is within the bound. The server counts it before it accepts another.
func (l *guardedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || l.connections.open.Load() < l.connections.limit {
			return conn, err //nolint:wrapcheck // the server tells errors of its listener apart
		}
		l.connections.refuse(conn, l.mute)
	}
}

func (c *Connections) refuse(conn net.Conn, mute bool) {
	c.refused.Add(1)
	if mute {
		_ = conn.Close()
		return
	}
	select {
	case c.refusing <- struct{}{}:
	default:
		_ = conn.Close()
		return
	}
	go func() {
		defer func() { <-c.refusing }()
		_ = conn.SetDeadline(time.Now().Add(refusalTimeout))
		_, _ = io.WriteString(conn, refusal)
		if half, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(conn, maxHeaderBytes)) // closed with bytes unread, the answer would be lost
		_ = conn.Close()
	}()
}
