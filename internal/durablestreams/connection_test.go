package durablestreams

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestSlowBody(t *testing.T) {
	for name, tc := range map[string]struct{ request, want string }{
		"of an append": {
			request: "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\nhalf", want: "HTTP/1.1 408 ",
		},
		"of an append that is refused without it": {
			request: "POST / HTTP/1.1\r\nHost: a\r\nProducer-Id: p\r\nContent-Length: 10\r\n\r\nhalf", want: "HTTP/1.1 400 ",
		},
		"of a create that is refused without it": {
			request: "PUT / HTTP/1.1\r\nHost: a\r\nStream-TTL: x\r\nContent-Length: 10\r\n\r\nhalf", want: "HTTP/1.1 400 ",
		},
	} {
		t.Run(name, func(t *testing.T) { testSlowBody(t, tc.request, tc.want) })
	}
}

func testSlowBody(t *testing.T, request, want string) {
	t.Helper()
	h := newHandler(t, func(c *Config) { c.Limits.BodyTimeout = 20 * time.Millisecond })
	log := newFaultyLog(time.Now)
	server, _ := listen(t, h, Stream{Settings: text, Log: log})
	conn := dial(t, server)
	_, _ = io.WriteString(conn, request)
	status, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.HasPrefix(status, want) {
		t.Errorf("got %q, %v, want %s", status, err, want)
	}
	if log.Info().Tail != 0 {
		t.Error("a body that did not arrive was appended")
	}
}

func TestBodyThatBreaksOffIsNotAppended(t *testing.T) {
	log := newFaultyLog(time.Now)
	server, served := listen(t, newHandler(t), Stream{Settings: text, Log: log})
	conn := dial(t, server)
	_, _ = io.WriteString(conn, "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
	_ = conn.Close()
	<-served
	if log.Info().Tail != 0 {
		t.Error("a body that broke off was appended")
	}
}

// A client that opens a read and takes nothing holds its request only as long as the limit says.
func TestClientThatDoesNotRead(t *testing.T) {
	for _, query := range []string{"?offset=-1", "?offset=-1&live=sse"} {
		t.Run(query, func(t *testing.T) {
			h := newHandler(t, func(c *Config) { c.Limits.WriteTimeout = 20 * time.Millisecond })
			server, served := listen(t, h, Stream{Settings: text, Log: newFaultyLog(time.Now, strings.Repeat("x", 32<<20))})
			conn := dial(t, server)
			_, _ = io.WriteString(conn, "GET /"+query+" HTTP/1.1\r\nHost: a\r\n\r\n")
			<-served
		})
	}
}

// The deadlines of one request do not reach into the next one on the connection.
func TestDeadlinesEndWithTheRequest(t *testing.T) {
	const brief = 20 * time.Millisecond
	h := newHandler(t, func(c *Config) {
		c.Limits.WriteTimeout, c.Limits.BodyTimeout, c.Limits.LongPoll = brief, brief, 5*brief
	})
	server, _ := listen(t, h, Stream{Settings: text, Log: newFaultyLog(time.Now, "start")})
	conn := dial(t, server)
	reader := bufio.NewReader(conn)
	for _, r := range []struct{ request, want string }{
		{"POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\nx", "204 No Content"},
		{"GET /?offset=-1 HTTP/1.1\r\nHost: a\r\n\r\n", "200 OK"},
		{"GET /?offset=now&live=long-poll HTTP/1.1\r\nHost: a\r\n\r\n", "204 No Content"},
		{"GET /?offset=-1 HTTP/1.1\r\nHost: a\r\n\r\n", "200 OK"},
	} {
		_, _ = io.WriteString(conn, r.request)
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatalf("%q: %v", r.request, err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if response.Status != r.want {
			t.Errorf("%q: got %s, want %s", r.request, response.Status, r.want)
		}
	}
}

func dial(t *testing.T, server *httptest.Server) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Deadlines and ends work over HTTP/2 as well, where a connection is shared.
func TestOverHTTP2(t *testing.T) {
	h := newHandler(t, func(c *Config) {
		c.Limits.BodyTimeout, c.Limits.WriteTimeout, c.Limits.LongPoll = 20*time.Millisecond, 20*time.Millisecond, 100*time.Millisecond
		c.Limits.EventStream = 100 * time.Millisecond
	})
	log := newFaultyLog(time.Now, "start")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h.Serve(w, r, Stream{ID: "a", Settings: text, Log: log}); err != nil {
			t.Errorf("%s was not answered: %v", r.Method, err)
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	body, feed := io.Pipe() // never ends by itself
	t.Cleanup(func() { _ = feed.Close() })
	for name, tc := range map[string]struct {
		method, query string
		body          io.Reader
		wantStatus    int
		wantBody      string
	}{
		"an append":       {method: http.MethodPost, body: strings.NewReader("x"), wantStatus: 204},
		"a slow body":     {method: http.MethodPost, body: body, wantStatus: 408, wantBody: "{"},
		"a long-poll":     {method: http.MethodGet, query: "?offset=now&live=long-poll", wantStatus: 204},
		"an event stream": {method: http.MethodGet, query: "?offset=-1&live=sse", wantStatus: 200, wantBody: "event: data\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), tc.method, server.URL+tc.query, tc.body)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", textType)
			response, err := server.Client().Do(r)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.ProtoMajor != 2 || response.StatusCode != tc.wantStatus || !strings.HasPrefix(string(got), tc.wantBody) || err != nil {
				t.Errorf("got %s %d %q, %v, want %d %q", response.Proto, response.StatusCode, got, err, tc.wantStatus, tc.wantBody)
			}
		})
	}
}
