package routingtest

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Answer is what a server answered.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Client sends requests and follows no redirect.
type Client struct {
	t    testing.TB
	http *http.Client
}

// NewClient returns a client whose connections end with the test.
func NewClient(tb testing.TB) *Client {
	tb.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	tb.Cleanup(transport.CloseIdleConnections)
	return &Client{t: tb, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Do sends a request with headers given as "Name: value". It fails the test where there is no answer.
func (c *Client) Do(method, url, body string, headers ...string) Answer {
	c.t.Helper()
	a, err := c.Try(context.Background(), method, url, body, headers...)
	if err != nil {
		c.t.Errorf("%s %s: %v", method, url, err)
	}
	return a
}

// Try is Do where no answer may come.
func (c *Client) Try(ctx context.Context, method, url, body string, headers ...string) (Answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return Answer{}, err
	}
	if method == http.MethodPost || method == http.MethodPut {
		r.Header.Set("Content-Type", "text/plain")
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return Answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return Answer{Status: response.StatusCode, Header: response.Header, Body: string(text)}, err
}

// Go sends a request without waiting for its answer, which the returned function waits for.
func (c *Client) Go(method, url, body string, headers ...string) (answer func() Answer) {
	c.t.Helper()
	answers := make(chan Answer, 1)
	go func() { answers <- c.Do(method, url, body, headers...) }()
	return func() Answer {
		c.t.Helper()
		select {
		case a := <-answers:
			return a
		case <-time.After(patience):
			c.t.Errorf("%s %s was not answered within %s", method, url, patience)
			return Answer{}
		}
	}
}

// patience bounds every wait of a test. It is reached only where something hangs.
const patience = 20 * time.Second

// Eventually looks until a condition holds.
func Eventually(tb testing.TB, what string, condition func() bool) {
	tb.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatalf("%s: not within %s", what, patience)
		}
	}
}
