package streamclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// Options are what a Client is made of; the zero value is useful.
type Options struct {
	// HTTP sends requests; nil: one without a time-out of its own, since live reads last.
	HTTP *http.Client
	// Header is sent with every request.
	Header http.Header
	// Token says who asks; nil: nobody in particular. It is sent over TLS only.
	Token TokenSource
	// RetryFor is for how long a request is repeated where that is safe. 0: 30 s; below 0: not at all.
	RetryFor time.Duration
	// AttemptTimeout bounds one attempt that is no live read. 0: 30 s.
	AttemptTimeout time.Duration
}

const (
	defaultRetryFor       = 30 * time.Second
	defaultAttemptTimeout = 30 * time.Second
	// liveTimeout bounds one live read: servers end event streams after about a minute.
	liveTimeout  = 2 * time.Minute
	firstPause   = 10 * time.Millisecond
	longestPause = time.Second
)

// Client speaks to one server. It may be used by many goroutines.
type Client struct {
	base    string
	options Options
}

// New returns a client of the server at a base URL, such as "http://gateway:4437".
func New(base string, options Options) *Client {
	if options.HTTP == nil {
		options.HTTP = &http.Client{}
	}
	if options.RetryFor == 0 {
		options.RetryFor = defaultRetryFor
	}
	if options.AttemptTimeout == 0 {
		options.AttemptTimeout = defaultAttemptTimeout
	}
	return &Client{base: strings.TrimSuffix(base, "/"), options: options}
}

// Stream returns the stream of this name in a namespace. It asks the server nothing. The name may contain slashes.
func (c *Client) Stream(namespace, name string) *Stream {
	segments := strings.Split(name, "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return c.StreamAt(c.base + "/v1/stream/" + url.PathEscape(namespace) + "/" + strings.Join(segments, "/"))
}

// StreamAt returns the stream with this URL.
func (c *Client) StreamAt(rawURL string) *Stream { return &Stream{client: c, url: rawURL} }

// safety tells whether a request may be sent again although an earlier attempt may have been applied.
type safety int

const (
	// repeatable requests have the same effect once and twice.
	repeatable safety = iota + 1
	// once is a plain append.
	once
)

// request is what is sent, as often as needed.
type request struct {
	method, url string
	header      http.Header
	body        []byte
	safety      safety
	// timeout bounds one attempt; 0: Options.AttemptTimeout.
	timeout time.Duration
}

// answer is a success, read completely.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// do sends a request until it is answered for good, and reads the answer.
func (c *Client) do(ctx context.Context, q request) (answer, error) {
	if q.timeout == 0 {
		q.timeout = c.options.AttemptTimeout
	}
	var a answer
	err := c.repeat(ctx, q.safety, func() (sent, error) {
		ctx, cancel := context.WithTimeout(ctx, q.timeout)
		defer cancel()
		response, sent, err := c.send(ctx, q)
		if err != nil {
			return sent, err
		}
		defer func() { _ = response.Body.Close() }()
		body, err := readBody(response)
		if err != nil {
			return maybeApplied, fmt.Errorf("reading the answer: %w", err)
		}
		a = answer{status: response.StatusCode, header: response.Header, body: body}
		return maybeApplied, nil
	})
	return a, err
}

// maxFirstBuffer bounds the buffer that is made on the word of a server; beyond it the buffer grows with what arrives.
const maxFirstBuffer = 16 << 20

// readBody reads an answer into a buffer of its size: growing one costs more than reading.
func readBody(response *http.Response) ([]byte, error) {
	var body bytes.Buffer
	if n := min(response.ContentLength, maxFirstBuffer); n > 0 {
		body.Grow(int(n) + bytes.MinRead)
	}
	_, err := body.ReadFrom(response.Body)
	return body.Bytes(), err
}

// sent tells what may have become of a request that failed.
type sent int

const (
	// notApplied: it never reached the server, or the server promises that it had no effect.
	notApplied sent = iota + 1
	// maybeApplied: nobody knows.
	maybeApplied
	// refused: the server says no, and would say so again.
	refused
)

// repeat calls attempt until it succeeds, is refused, must not be repeated, or the time for it is over, which counts from
// the first failure.
func (c *Client) repeat(ctx context.Context, s safety, attempt func() (sent, error)) error {
	var deadline time.Time
	unknown := false
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		sent, err := attempt()
		if err == nil {
			return nil
		}
		switch sent {
		case refused:
			return err
		case maybeApplied:
			if s == once {
				return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
			}
			unknown = true
		case notApplied:
		}
		if deadline.IsZero() {
			deadline = time.Now().Add(c.options.RetryFor)
		}
		if ctx.Err() != nil || untrusted(err) || time.Now().Add(pause).After(deadline) {
			if unknown && !errors.Is(err, ErrOutcomeUnknown) {
				return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
			}
			return err
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// untrusted tells that a server showed a certificate that we do not trust: it will again.
func untrusted(err error) bool {
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &certificate)
}

// sleep waits for about d: between half of it and all of it, so that clients that failed together do not come back
// together.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d/2 + rand.N(d/2+1)) //nolint:gosec // spreads load, hides nothing
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting to repeat the request: %w", ctx.Err())
	}
}

// send makes one attempt. The answer is a success, with its body still to be read.
func (c *Client) send(ctx context.Context, q request) (*http.Response, sent, error) {
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	var body io.Reader
	if q.body != nil {
		body = bytes.NewReader(q.body)
	}
	r, err := http.NewRequestWithContext(ctx, q.method, q.url, body)
	if err != nil {
		return nil, refused, fmt.Errorf("building the request: %w", err)
	}
	for _, h := range []http.Header{c.options.Header, q.header} {
		maps.Copy(r.Header, h)
	}
	if err := c.authorize(r); err != nil {
		return nil, refused, err
	}
	response, err := c.options.HTTP.Do(r)
	if err != nil {
		var dial *net.OpError
		if !connected.Load() || (errors.As(err, &dial) && dial.Op == "dial") {
			return nil, notApplied, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return nil, maybeApplied, fmt.Errorf("sending the request: %w", err)
	}
	if response.StatusCode < http.StatusMultipleChoices || response.StatusCode == http.StatusNotModified {
		return response, maybeApplied, nil
	}
	defer func() { _ = response.Body.Close() }()
	e := errorOf(response)
	switch {
	case errors.Is(e, ErrUnavailable):
		return nil, notApplied, e
	case errors.Is(e, ErrOutcomeUnknown):
		return nil, maybeApplied, e
	}
	return nil, refused, e
}
