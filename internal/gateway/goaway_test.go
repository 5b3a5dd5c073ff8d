package gateway_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/streamshift/streamshift/internal/routing/routingtest"
)

// endWithoutTaking is a node that ends just as a request comes, as a server of HTTP/2 does: it listens no longer, says up to which
// request it has taken any, which is none (GOAWAY, RFC 9113, 6.8), and closes the connection. It returns once it has.
func endWithoutTaking(t *testing.T, address string) (ended <-chan error) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		connection, err := listener.Accept()
		if err != nil {
			done <- err
			return
		}
		done <- refuseFirst(connection, listener)
		_ = connection.Close()
	}()
	return done
}

func refuseFirst(connection io.ReadWriter, listener net.Listener) error {
	if _, err := io.ReadFull(connection, make([]byte, len(http2.ClientPreface))); err != nil {
		return err
	}
	framer := http2.NewFramer(connection, connection)
	if err := framer.WriteSettings(); err != nil {
		return err
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return err
		}
		if _, request := frame.(*http2.HeadersFrame); request {
			_ = listener.Close()
			return framer.WriteGoAway(0, http2.ErrCodeNo, nil)
		}
	}
}

func TestANodeThatEndsHasNotTakenWhatItSaysItHasNot(t *testing.T) {
	b := newBench(t, routingtest.Options{}, nil)
	b.Start(orders, text, "a")
	b.nodes["a"].Cut()
	ended := endWithoutTaking(t, b.nodes["a"].URL)
	answer := b.client.Go(http.MethodPost, b.url+ordersPath, "x")
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	routingtest.Eventually(t, "the append waits", func() bool { return b.parked() == 1 })
	b.nodes["a"].Serve(b.nodes["a"].Front)
	if a := answer(); a.Status != http.StatusNoContent {
		t.Errorf("the append is answered %d %s, want 204: the node said that it has not taken it", a.Status, a.Body)
	}
}
