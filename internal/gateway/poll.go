package gateway

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"

	"github.com/streamshift/streamshift/internal/durablestreams"
)

// poll answers a long-poll. It may be held at several nodes one after the other; when that takes as long as a client
// waits, or the gateway ends, a read that does not wait tells where the client is.
func (x *exchange) poll(ctx context.Context) (*reply, *durablestreams.Problem) {
	live := x.r.URL.Query()
	if live.Get("offset") == "now" {
		// Asked again at another node, "now" would be later, and what was appended in between missed. So it is
		// resolved once, before the wait.
		a, p := x.fetchWithoutWaiting(ctx, live)
		if p != nil || a.status != http.StatusOK {
			return a, p
		}
		a.end()
		live.Set("offset", a.header.Get("Stream-Next-Offset"))
		x.mode, x.query = longPoll, live.Encode()
	}
	a, p := x.fetch(ctx)
	if a != nil || p != nil {
		return a, p
	}
	a, p = x.fetchWithoutWaiting(ctx, live)
	if p == nil && a.status == http.StatusOK && a.empty() {
		a.release()
		a.status, a.body, a.release = http.StatusNoContent, nil, func() {}
		for _, name := range []string{"Content-Type", "Content-Length", "Etag"} {
			a.header.Del(name)
		}
		a.header.Set("Cache-Control", "no-store")
	}
	return a, p
}

// fetchWithoutWaiting reads what there is at the offset of a live read.
func (x *exchange) fetchWithoutWaiting(ctx context.Context, live url.Values) (*reply, *durablestreams.Problem) {
	query := url.Values{}
	for name, values := range live {
		if name != "live" {
			query[name] = values
		}
	}
	x.header.Del("If-None-Match")
	x.mode, x.query = plain, query.Encode()
	x.deadline = x.g.cfg.Now().Add(x.g.cfg.Limits.ParkTimeout)
	return x.fetch(ctx)
}

// empty tells whether a read found no message.
func (a *reply) empty() bool {
	if a.rest != nil {
		return false
	}
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if strings.EqualFold(strings.TrimSpace(kind), "application/json") {
		return bytes.Equal(a.body, []byte("[]"))
	}
	return len(a.body) == 0
}
