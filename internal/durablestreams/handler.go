package durablestreams

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/semaphore"
)

// ErrStreamEnded tells that a PUT found a stream that has expired or is deleted. Nothing was written to the client:
// whoever routes the request waits until the ended stream is gone and creates a new one.
var ErrStreamEnded = errors.New("stream has ended")

// CacheScope says who may keep what was read.
type CacheScope int

const (
	// CachePrivate lets only the client's own cache keep answers.
	CachePrivate CacheScope = iota
	// CachePublic lets shared caches keep them too: for streams that anybody may read.
	CachePublic
)

// Config is what a [Handler] is made from.
type Config struct {
	Limits Limits
	// Clock tells the time for TTLs and cursors. It must be the clock of the sessions.
	Clock func() time.Time
	// Jitter returns a random number in [0, n). It is called from many goroutines.
	Jitter func(n int64) int64
	// OnExpired is told of a stream that a request found expired, so that its owner deletes it; may be nil. It is
	// called before the answer is written, by every such request, and must return at once.
	OnExpired func(Stream)
	// CacheScope goes into Cache-Control of cacheable reads.
	CacheScope CacheScope
	Log        logr.Logger
}

// Handler answers the requests of open streams. It keeps no state of a stream.
type Handler struct {
	limits    Limits
	clock     func() time.Time
	jitter    func(n int64) int64
	onExpired func(Stream)
	chunks    string // Cache-Control of a chunk before the tail
	log       logr.Logger
	bodies    *Bodies
	live      *semaphore.Weighted // live reads that are being served
	counts    counts
}

// New returns a handler, or an error where the configuration has a gap.
func New(c Config) (*Handler, error) {
	if err := c.Limits.check(); err != nil {
		return nil, fmt.Errorf("checking limits: %w", err)
	}
	if c.Clock == nil || c.Jitter == nil {
		return nil, errors.New("a handler needs a clock and a source of randomness")
	}
	h := &Handler{
		limits: c.Limits, clock: c.Clock, jitter: c.Jitter, onExpired: c.OnExpired, log: c.Log,
		bodies: NewBodies(c.Limits.BodyBytes, c.Limits.BodiesBytes, c.Limits.BodyTimeout, time.Now), live: semaphore.NewWeighted(c.Limits.LiveReads),
	}
	switch c.CacheScope {
	case CachePrivate:
		h.chunks = "private, " + cacheChunk
	case CachePublic:
		h.chunks = "public, " + cacheChunk
	default:
		return nil, fmt.Errorf("unknown cache scope %d", c.CacheScope)
	}
	return h, nil
}

// Serve answers one request for an open stream: PUT, POST, GET, HEAD and OPTIONS. DELETE is not among them: a stream is
// deleted by whoever placed it.
//
// An error means that nothing was written to w, that nothing was applied and never will be, and that r can be served
// again, here or elsewhere: its body is restored. It is engine.ErrSessionClosed where the session has ended, and
// [ErrStreamEnded] for a PUT on a stream that has expired or is deleted.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, s Stream) error {
	SetBaseHeaders(w.Header())
	switch r.Method {
	case http.MethodOptions:
		ServeOptions(w)
		return nil
	case http.MethodPut:
		c, p := h.ParseCreate(w, r)
		if p != nil {
			WriteProblem(w, p)
			return nil
		}
		defer c.Release()
		return h.ServeCreate(w, r, s, c)
	}
	h.limitBody(w, r)
	serve := h.serveRead
	switch r.Method {
	case http.MethodGet:
	case http.MethodPost:
		serve = h.serveAppend
	case http.MethodHead:
		serve = h.serveHead
	default:
		WriteProblem(w, MethodNotAllowed(r.Method))
		return nil
	}
	if !s.Log.Info().Created {
		// Said by a session that has ended it means nothing: another owner may have created the stream since.
		if _, err := h.readTail(r.Context(), s); err != nil {
			return h.refuseRead(w, r, s, err)
		}
		WriteProblem(w, NotFound())
		return nil
	}
	if h.expired(s) {
		WriteProblem(w, NotFound())
		return nil
	}
	return serve(w, r, s)
}

// expired tells whether the stream's life is over, and if so tells its owner.
func (h *Handler) expired(s Stream) bool {
	info := s.Log.Info()
	end, ends := s.Settings.Expiry(info.LastAccess)
	if !info.Created || !ends || h.clock().Before(end) {
		return false
	}
	if h.onExpired != nil {
		h.onExpired(s)
	}
	return true
}

// serveHead answers with the stream's metadata. It is no access: it does not slide the TTL.
func (h *Handler) serveHead(w http.ResponseWriter, r *http.Request, s Stream) error {
	b, err := h.readTail(r.Context(), s)
	if err != nil {
		return h.refuseRead(w, r, s, err)
	}
	header := w.Header()
	header.Set("Content-Type", s.Settings.ContentType)
	header.Set("Cache-Control", cacheNever)
	header.Set(headerNextOffset, FormatOffset(b.Tail))
	if b.StreamClosed {
		header.Set(headerStreamClosed, "true")
	}
	if s.Settings.TTL != nil {
		header.Set(headerTTL, fmt.Sprint(int64(*s.Settings.TTL/time.Second)))
	}
	if s.Settings.ExpiresAt != nil {
		header.Set(headerExpiresAt, s.Settings.ExpiresAt.UTC().Format(time.RFC3339Nano))
	}
	w.WriteHeader(http.StatusOK)
	return nil
}
