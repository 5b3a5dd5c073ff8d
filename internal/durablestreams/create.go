package durablestreams

import (
	"context"
	"errors"
	"net/http"

	"github.com/streamshift/streamshift/internal/engine"
)

// Create is a PUT that is well-formed.
type Create struct {
	Settings Settings
	// Messages are the first content; may be empty.
	Messages [][]byte
	// CloseStream creates the stream closed.
	CloseStream bool

	release func()
}

// Release gives back the memory that the body counts for. It may be called more than once.
func (c *Create) Release() {
	if c.release != nil {
		c.release()
		c.release = nil
	}
}

// ParseCreate reads and checks a PUT, its body included, before anything is made for it. The caller releases the
// result. The request stays servable: its body is restored.
func (h *Handler) ParseCreate(w http.ResponseWriter, r *http.Request) (*Create, *Problem) {
	h.limitBody(w, r)
	if len(r.Header.Values(headerForkedFrom)) > 0 || len(r.Header.Values(headerForkOffset)) > 0 {
		return nil, &Problem{Type: ProblemForks, Status: http.StatusNotImplemented,
			Detail: "Forks are not supported: a stream cannot be created from another one."}
	}
	settings, p := parseSettings(r.Header)
	if p != nil {
		return nil, p
	}
	body, release, p := h.readBody(w, r)
	if p != nil {
		return nil, p
	}
	c := &Create{Settings: settings, CloseStream: closesStream(r.Header), release: release}
	if len(body) == 0 {
		return c, nil
	}
	c.Messages, p = split(body, settings.encoding(), h.limits.Messages)
	if p != nil {
		c.Release()
		return nil, p
	}
	return c, nil
}

// ServeCreate answers a PUT that was parsed already, on the stream whose session it led to. Errors are as in
// [Handler.Serve].
func (h *Handler) ServeCreate(w http.ResponseWriter, r *http.Request, s Stream, c *Create) error {
	SetBaseHeaders(w.Header())
	if h.expired(s) {
		return ErrStreamEnded
	}
	if !s.Settings.Same(c.Settings) {
		WriteProblem(w, mismatch("The stream exists with another content type, TTL or expiry."))
		return nil
	}
	if info := s.Log.Info(); info.Created {
		answerExisting(w, s, c, engine.Appended{Next: info.Tail, StreamClosed: info.StreamClosed})
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.limits.AppendTimeout)
	defer cancel()
	done, err := s.Log.Append(ctx, engine.Append{Messages: c.Messages, CloseStream: c.CloseStream, Create: true})
	switch {
	case errors.Is(err, engine.ErrStreamDeleted):
		return ErrStreamEnded
	case err != nil:
		return h.refuseAppend(w, r, s, err)
	case done.Duplicate: // another PUT was faster
		answerExisting(w, s, c, done)
		return nil
	}
	s.Log.Touch()
	w.Header().Set("Location", location(r))
	writeEnsured(w, http.StatusCreated, s, done)
	return nil
}

// answerExisting answers a PUT for a stream that exists with the same settings. Whether it is closed is part of the
// configuration, so that a PUT that succeeds has what it asked for.
func answerExisting(w http.ResponseWriter, s Stream, c *Create, at engine.Appended) {
	switch {
	case c.CloseStream && !at.StreamClosed:
		WriteProblem(w, mismatch("The stream exists and is not closed."))
	case !c.CloseStream && at.StreamClosed:
		WriteProblem(w, mismatch("The stream exists and is closed.").with(headerStreamClosed, "true").
			with(headerNextOffset, FormatOffset(at.Next)))
	default:
		s.Log.Touch()
		writeEnsured(w, http.StatusOK, s, at)
	}
}

func mismatch(detail string) *Problem {
	return &Problem{Type: ProblemConfigurationMismatch, Status: http.StatusConflict, Detail: detail}
}

func writeEnsured(w http.ResponseWriter, status int, s Stream, at engine.Appended) {
	header := w.Header()
	header.Set("Content-Type", s.Settings.ContentType)
	header.Set("Content-Length", "0")
	header.Set("Cache-Control", cacheNever)
	header.Set(headerNextOffset, FormatOffset(at.Next))
	if at.StreamClosed {
		header.Set(headerStreamClosed, "true")
	}
	w.WriteHeader(status)
}

// location is the stream's absolute URL as the client wrote it. Behind a proxy, or a gateway, the host is the one that it passes on, and
// the scheme the one that it says.
func location(r *http.Request) string {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	switch said := r.Header.Get("X-Forwarded-Proto"); said {
	case "http", "https":
		scheme = said
	}
	return scheme + "://" + r.Host + r.URL.EscapedPath()
}
