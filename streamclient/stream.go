package streamclient

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	headerNextOffset  = "Stream-Next-Offset"
	headerUpToDate    = "Stream-Up-To-Date"
	headerClosed      = "Stream-Closed"
	headerCursor      = "Stream-Cursor"
	headerTTL         = "Stream-Ttl"
	headerExpiresAt   = "Stream-Expires-At"
	headerSeq         = "Stream-Seq"
	headerContentType = "Content-Type"
)

// Offset is a position in a stream, as the server gave it out. It is opaque; two of one stream compare as strings.
type Offset string

const (
	// Beginning is the first position that is retained.
	Beginning Offset = "-1"
	// Now is the end of the stream when the server takes the request.
	Now Offset = "now"
)

// Stream is one stream at a server. It may be used by many goroutines.
type Stream struct {
	client *Client
	url    string
}

// URL returns the stream's URL.
func (s *Stream) URL() string { return s.url }

// CreateOptions are what a stream is created with.
type CreateOptions struct {
	// ContentType of what the stream holds; empty: application/octet-stream. Appends must have it too.
	ContentType string
	// TTL is for how long the stream lives after its last read or append, in whole seconds; 0: for ever.
	TTL time.Duration
	// ExpiresAt is when the stream ends; the zero time: never. It excludes TTL.
	ExpiresAt time.Time
	// Content is the first content; may be empty.
	Content []byte
	// Closed creates the stream closed.
	Closed bool
}

// Created tells what a creation has led to.
type Created struct {
	// Existed tells that the stream was there before, with the same configuration.
	Existed bool
	// Next is the end of the stream.
	Next Offset
}

// Create makes the stream, or finds that it exists with the same configuration. It is repeated where it fails;
// ErrConflict where the stream exists with another configuration.
func (s *Stream) Create(ctx context.Context, options CreateOptions) (Created, error) {
	h := http.Header{}
	if options.ContentType != "" {
		h.Set(headerContentType, options.ContentType)
	}
	if options.TTL > 0 {
		h.Set(headerTTL, strconv.FormatInt(int64(options.TTL/time.Second), 10))
	}
	if !options.ExpiresAt.IsZero() {
		h.Set(headerExpiresAt, options.ExpiresAt.UTC().Format(time.RFC3339Nano))
	}
	if options.Closed {
		h.Set(headerClosed, "true")
	}
	a, err := s.client.do(ctx, request{method: http.MethodPut, url: s.url, header: h, body: options.Content, safety: repeatable})
	if err != nil {
		return Created{}, fmt.Errorf("creating the stream: %w", err)
	}
	return Created{Existed: a.status == http.StatusOK, Next: Offset(a.header.Get(headerNextOffset))}, nil
}

// AppendOptions are what an append comes with.
type AppendOptions struct {
	// ContentType is the stream's.
	ContentType string
	// Seq must be above the last one that the stream accepted, compared as bytes; empty: none.
	Seq string
	// Close closes the stream for ever, together with the append.
	Close bool
}

// Append appends to the stream and returns its end behind that. It is repeated only where the server promises that it was
// not applied; ErrOutcomeUnknown where nobody knows.
func (s *Stream) Append(ctx context.Context, content []byte, options AppendOptions) (Offset, error) {
	h := http.Header{headerContentType: {options.ContentType}}
	if options.Seq != "" {
		h.Set(headerSeq, options.Seq)
	}
	if options.Close {
		h.Set(headerClosed, "true")
	}
	a, err := s.client.do(ctx, request{method: http.MethodPost, url: s.url, header: h, body: content, safety: once})
	if err != nil {
		return "", fmt.Errorf("appending: %w", err)
	}
	return Offset(a.header.Get(headerNextOffset)), nil
}

// Close closes the stream for appends, for ever, and returns its end. Closing a closed stream is a success.
func (s *Stream) Close(ctx context.Context) (Offset, error) {
	h := http.Header{headerClosed: {"true"}}
	a, err := s.client.do(ctx, request{method: http.MethodPost, url: s.url, header: h, safety: repeatable})
	if err != nil {
		return "", fmt.Errorf("closing the stream: %w", err)
	}
	return Offset(a.header.Get(headerNextOffset)), nil
}

// Chunk is a piece of a stream.
type Chunk struct {
	// Data are the bytes; of a JSON stream, an array of whole messages.
	Data []byte
	// Next is where to read on.
	Next Offset
	// UpToDate tells that Next was the end of the stream.
	UpToDate bool
	// Closed tells that nothing will ever follow Next.
	Closed bool
}

// Read returns what the stream holds at an offset, as much as the server gives out at once; no data where the offset is
// the end.
func (s *Stream) Read(ctx context.Context, from Offset) (Chunk, error) {
	a, err := s.client.do(ctx, request{method: http.MethodGet, url: s.at(from, "", ""), safety: repeatable})
	if err != nil {
		return Chunk{}, fmt.Errorf("reading: %w", err)
	}
	return chunkOf(a), nil
}

func chunkOf(a answer) Chunk {
	return Chunk{
		Data: a.body, Next: Offset(a.header.Get(headerNextOffset)),
		UpToDate: isTrue(a.header, headerUpToDate), Closed: isTrue(a.header, headerClosed),
	}
}

func isTrue(h http.Header, name string) bool { return strings.EqualFold(h.Get(name), "true") }

// at returns the URL of a read.
func (s *Stream) at(from Offset, live, cursor string) string {
	query := url.Values{}
	for name, value := range map[string]string{"offset": string(from), "live": live, "cursor": cursor} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if len(query) == 0 {
		return s.url
	}
	return s.url + "?" + query.Encode()
}

// Info describes a stream.
type Info struct {
	ContentType string
	// Next is the end of the stream.
	Next Offset
	// Closed tells that nothing can be appended.
	Closed bool
	// TTL and ExpiresAt are what the stream was created with; zero where it lives for ever.
	TTL       time.Duration
	ExpiresAt time.Time
}

// Head describes the stream without reading from it.
func (s *Stream) Head(ctx context.Context) (Info, error) {
	a, err := s.client.do(ctx, request{method: http.MethodHead, url: s.url, safety: repeatable})
	if err != nil {
		return Info{}, fmt.Errorf("describing the stream: %w", err)
	}
	info := Info{
		ContentType: a.header.Get(headerContentType), Next: Offset(a.header.Get(headerNextOffset)),
		Closed: isTrue(a.header, headerClosed),
	}
	if seconds, err := strconv.ParseInt(a.header.Get(headerTTL), 10, 64); err == nil {
		info.TTL = time.Duration(seconds) * time.Second
	}
	if at, err := time.Parse(time.RFC3339, a.header.Get(headerExpiresAt)); err == nil {
		info.ExpiresAt = at
	}
	return info, nil
}

// Delete deletes the stream and everything in it; ErrNotFound where there is none.
func (s *Stream) Delete(ctx context.Context) error {
	_, err := s.client.do(ctx, request{method: http.MethodDelete, url: s.url, safety: repeatable})
	if err != nil {
		return fmt.Errorf("deleting the stream: %w", err)
	}
	return nil
}

// isJSON tells whether a content type is JSON, whose messages keep their borders.
func isJSON(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(kind), "application/json")
}
