package routing

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/streamshift/streamshift/internal/durablestreams"
)

func TestConnectionsBeyondTheLimitAreAnswered(t *testing.T) {
	const limit = 3
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2"} {
		t.Run(protocol, func(t *testing.T) {
			connections := NewConnections(limit)
			server := NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
			listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			go func() { _ = connections.Serve(server, listener, nil) }()
			t.Cleanup(func() { _ = server.Close() })
			ask := func(transport *http.Transport) (*http.Response, error) {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+listener.Addr().String(), http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				return transport.RoundTrip(r)
			}
			var transports []*http.Transport
			for range limit {
				transport := &http.Transport{Protocols: only(protocol)}
				t.Cleanup(transport.CloseIdleConnections)
				transports = append(transports, transport)
				response, err := ask(transport)
				if err != nil || response.StatusCode != http.StatusNoContent {
					t.Fatalf("within the limit: %v, %v", response, err)
				}
				_ = response.Body.Close()
			}
			beyond := &http.Transport{Protocols: only("HTTP/1.1")}
			defer beyond.CloseIdleConnections()
			response, err := ask(beyond)
			if err != nil {
				t.Fatalf("one beyond the limit: %v", err)
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			var problem struct{ Type string }
			if jsonErr := json.Unmarshal(body, &problem); err != nil || jsonErr != nil {
				t.Errorf("the answer %q is not one: %v, %v", body, err, jsonErr)
			}
			if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" ||
				problem.Type != durablestreams.ProblemBase+string(durablestreams.ProblemOverloaded) {
				t.Errorf("one beyond the limit is answered %s, %s", response.Status, body)
			}
			if got := connections.Refused(); got != 1 {
				t.Errorf("%d refusals are counted, want 1", got)
			}
			transports[0].CloseIdleConnections()
			for deadline := time.Now().Add(10 * time.Second); connections.Open() == limit; {
				if time.Now().After(deadline) {
					t.Fatal("a connection that has ended still counts")
				}
			}
			if response, err = ask(beyond); err != nil || response.StatusCode != http.StatusNoContent {
				t.Errorf("when there is room again: %v, %v", response, err)
			} else {
				_ = response.Body.Close()
			}
		})
	}
}

func only(protocol string) *http.Protocols {
	var p http.Protocols
	p.SetHTTP1(protocol == "HTTP/1.1")
	p.SetUnencryptedHTTP2(protocol == "HTTP/2")
	return &p
}
