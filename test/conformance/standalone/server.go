package standalone

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/engine/store"
)

// Prefix is what the path of every stream begins with.
const Prefix = "/v1/stream/"

// Server keeps every stream that was created open until it is deleted.
type Server struct {
	store    store.Store
	options  Options
	protocol *durablestreams.Handler
	log      logr.Logger

	mu      sync.Mutex
	streams map[string]*entry // by path
	made    int               // streams made so far: their identities count up
}

// entry is one stream; its session is opened by whoever comes first.
type entry struct {
	id       string
	settings durablestreams.Settings

	open    sync.Once
	session *engine.Session
	err     error
}

// Options say which sessions a server opens. The zero value is a server whose streams end with it.
type Options struct {
	// Epoch is the one at which streams are opened; 0 means 1. A server on the store of an earlier one takes a higher one.
	Epoch engine.Epoch
	// Identify returns the identity of the stream at a path; nil numbers the streams as they are made. One that a later
	// server shall find again has to depend on the path alone; then a deleted stream's path cannot be used again.
	Identify func(path string) string
	// Engine has what all sessions share.
	Engine engine.Config
}

// New returns a server without streams.
func New(s store.Store, limits durablestreams.Limits, log logr.Logger) (*Server, error) {
	return NewWith(s, limits, Options{}, log)
}

// NewWith returns a server without streams, as options say.
func NewWith(s store.Store, limits durablestreams.Limits, options Options, log logr.Logger) (*Server, error) {
	options.Epoch = max(options.Epoch, 1)
	server := &Server{store: s, options: options, log: log, streams: map[string]*entry{}}
	protocol, err := durablestreams.New(durablestreams.Config{
		Limits: limits, Clock: time.Now, Jitter: rand.Int64N, OnExpired: server.dropExpired, Log: log,
	})
	if err != nil {
		return nil, err
	}
	server.protocol = protocol
	return server, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.URL.Path, Prefix) {
		durablestreams.WriteProblem(w, durablestreams.NotFound())
		return
	}
	switch r.Method {
	case http.MethodOptions:
		durablestreams.ServeOptions(w)
	case http.MethodPut:
		s.create(w, r)
	case http.MethodDelete:
		s.remove(w, r)
	default:
		s.serve(w, r)
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	e := s.find(r.URL.Path)
	if e == nil {
		durablestreams.WriteProblem(w, durablestreams.NotFound())
		return
	}
	stream, err := s.stream(r.Context(), e)
	if err == nil {
		err = s.protocol.Serve(w, r, stream)
	}
	s.answer(w, err)
}

func (s *Server) create(w http.ResponseWriter, r *http.Request) {
	c, problem := s.protocol.ParseCreate(w, r)
	if problem != nil {
		durablestreams.WriteProblem(w, problem)
		return
	}
	defer c.Release()
	for {
		e := s.findOrMake(r.URL.Path, c.Settings)
		stream, err := s.stream(r.Context(), e)
		if err == nil {
			err = s.protocol.ServeCreate(w, r, stream, c)
		}
		if errors.Is(err, durablestreams.ErrStreamEnded) {
			s.drop(r.URL.Path, e.id)
			continue
		}
		s.answer(w, err)
		return
	}
}

func (s *Server) remove(w http.ResponseWriter, r *http.Request) {
	e := s.find(r.URL.Path)
	if e == nil || !s.drop(r.URL.Path, e.id) {
		durablestreams.WriteProblem(w, durablestreams.NotFound())
		return
	}
	stream, err := s.stream(r.Context(), e)
	if err == nil && !stream.Log.Info().Created {
		err = engine.ErrNotCreated
	}
	if err == nil {
		err = e.session.Delete(r.Context())
	}
	if err != nil {
		s.answer(w, err)
		return
	}
	durablestreams.SetBaseHeaders(w.Header())
	w.WriteHeader(http.StatusNoContent)
}

// answer answers what the protocol left unanswered. In one process a session ends only by deletion.
func (s *Server) answer(w http.ResponseWriter, err error) {
	switch {
	case err == nil:
	case errors.Is(err, engine.ErrSessionClosed), errors.Is(err, engine.ErrStreamDeleted), errors.Is(err, engine.ErrNotCreated):
		durablestreams.WriteProblem(w, durablestreams.NotFound())
	default:
		s.log.Error(err, "Serving a request failed")
		durablestreams.WriteProblem(w, &durablestreams.Problem{
			Type: durablestreams.ProblemUnavailable, Status: http.StatusServiceUnavailable, Detail: "The stream cannot be opened.",
		})
	}
}

func (s *Server) find(path string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[path]
}

func (s *Server) findOrMake(path string, settings durablestreams.Settings) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.streams[path] == nil {
		s.made++
		id := fmt.Sprintf("stream-%d", s.made)
		if s.options.Identify != nil {
			id = s.options.Identify(path)
		}
		s.streams[path] = &entry{id: id, settings: settings}
	}
	return s.streams[path]
}

// drop forgets a stream, and returns false where another one was faster.
func (s *Server) drop(path, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.streams[path]
	if e == nil || e.id != id {
		return false
	}
	delete(s.streams, path)
	return true
}

func (s *Server) dropExpired(expired durablestreams.Stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, e := range s.streams {
		if e.id == expired.ID {
			delete(s.streams, path)
		}
	}
}

// stream returns the open stream of an entry.
func (s *Server) stream(ctx context.Context, e *entry) (durablestreams.Stream, error) {
	e.open.Do(func() {
		// The session outlives the request that opens it.
		config := s.options.Engine
		config.Stream, config.Session = e.id, fmt.Sprintf("%s-%d", e.id, s.options.Epoch)
		config.Epoch, config.Clock, config.Log = s.options.Epoch, time.Now, s.log
		e.session, e.err = engine.Open(context.WithoutCancel(ctx), s.store, config)
	})
	if e.err != nil {
		return durablestreams.Stream{}, fmt.Errorf("opening stream %s: %w", e.id, e.err)
	}
	return durablestreams.Stream{ID: e.id, Settings: e.settings, Log: e.session}, nil
}
