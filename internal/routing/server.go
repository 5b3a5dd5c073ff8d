package routing

import (
	"net/http"
	"time"
)

const (
	// idleTimeout is above the time after which clients and gateways close an idle connection, so that a request is never sent on
	// one that the server is just closing: whoever sent it could not know what became of it. It holds before a connection's first
	// request as well, by the time for its headers: clients keep spare connections, on which they have sent nothing yet.
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 64 << 10
	// maxStreamsPerConnection bounds what one gateway may have open on one connection: most of it waits, in long-polls
	// and event streams. A gateway opens another connection beyond it.
	maxStreamsPerConnection = 4096
	// pingAfter and pingTimeout end connections whose peer is gone without a word.
	pingAfter   = 15 * time.Second
	pingTimeout = 10 * time.Second
)

// NewServer returns a server for HTTP/1.1 and for HTTP/2 without TLS, with its limits set. Gateways use HTTP/2: it tells
// exactly which requests a server that ends has not taken, and one connection carries all that wait.
func NewServer(handler http.Handler) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           handler,
		Protocols:         &protocols,
		ReadHeaderTimeout: idleTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreamsPerConnection,
			SendPingTimeout:      pingAfter,
			PingTimeout:          pingTimeout,
		},
	}
}
