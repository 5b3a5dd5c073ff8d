package routing

import (
	"net/http"
	"testing"
	"time"
)

// TestASpareConnectionIsKeptAsLongAsAnIdleOne: clients (Go's for 90 s) keep connections that they made and did not need, and send their next
// request on one without asking. A server that closes it at that moment leaves them not knowing what became of the request.
func TestASpareConnectionIsKeptAsLongAsAnIdleOne(t *testing.T) {
	const clients = 90 * time.Second
	server := NewServer(http.NotFoundHandler())
	if server.ReadHeaderTimeout <= clients || server.IdleTimeout <= clients {
		t.Errorf("a connection without a request is closed after %v, an idle one after %v; want both to be more than %v",
			server.ReadHeaderTimeout, server.IdleTimeout, clients)
	}
	if server.ReadTimeout != 0 && server.ReadTimeout <= clients {
		t.Errorf("a connection is closed after %v whatever it does", server.ReadTimeout)
	}
}
