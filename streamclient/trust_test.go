package streamclient_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/streamshift/streamshift/streamclient"
)

// counting counts the requests that go through it.
type counting struct {
	requests atomic.Int32
	next     http.RoundTripper
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	return c.next.RoundTrip(r)
}

func TestAServerThatIsNotTrustedIsAskedOnce(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	transport := &counting{next: http.DefaultTransport}
	stream := streamclient.New(server.URL, streamclient.Options{HTTP: &http.Client{Transport: transport}}).Stream("default", "orders")

	_, err := stream.Head(t.Context())
	var certificate *tls.CertificateVerificationError
	if !errors.As(err, &certificate) || !errors.Is(err, streamclient.ErrUnavailable) {
		t.Errorf("got %v, want an error about the certificate that is ErrUnavailable", err)
	}
	if got := transport.requests.Load(); got != 1 {
		t.Errorf("asked %d times, want once", got)
	}
}
