package routing

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// clientsKeep is for how long Go's clients keep a connection that they do not use; others close it sooner.
const clientsKeep = 90 * time.Second

// TestAConnectionIsKeptForAsLongAsClientsKeepIt: clients also keep connections that they made and did not need, and send their next
// request on one without asking. A server that closes it at that moment leaves them not knowing what became of the request.
func TestAConnectionIsKeptForAsLongAsClientsKeepIt(t *testing.T) {
	for name, requests := range map[string]int{"without a request so far": 0, "after a request": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := connected(t)
				answers := bufio.NewReader(conn)
				for range requests {
					ask(t, conn, answers)
				}
				time.Sleep(clientsKeep) //nolint:forbidigo // by the bubble's clock
				ask(t, conn, answers)
			})
		})
	}
}

func TestASilentConnectionIsClosed(t *testing.T) {
	for name, sent := range map[string]string{"no request": "", "headers without an end": "GET / HTTP/1.1\r\nHost: x\r\n"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				conn := connected(t)
				if _, err := io.WriteString(conn, sent); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				if _, err := io.Copy(io.Discard, conn); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took > idleTimeout {
					t.Errorf("it is closed after %v, want at most %v", took, idleTimeout)
				}
			})
		})
	}
}

// connected returns the client's end of a connection to a server that answers everything with nothing, in a bubble.
func connected(t *testing.T) net.Conn {
	t.Helper()
	client, served := net.Pipe()
	listener := &pipeListener{conns: make(chan net.Conn, 1), closed: make(chan struct{})}
	listener.conns <- served
	server := NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = errors.Join(client.Close(), server.Close()) })
	return client
}

func ask(t *testing.T, conn net.Conn, answers *bufio.Reader) {
	t.Helper()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatalf("the connection takes no request: %v", err)
	}
	response, err := http.ReadResponse(answers, nil)
	if err != nil {
		t.Fatalf("a request has no answer: %v", err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusNoContent {
		t.Errorf("answered %s", response.Status)
	}
}

// pipeListener hands out connections that are in memory, whose deadlines follow the bubble's clock.
type pipeListener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	close(l.closed)
	return nil
}

func (*pipeListener) Addr() net.Addr { return &net.TCPAddr{} }
