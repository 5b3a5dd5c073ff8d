package gateway

import (
	"net/http"
	"strings"

	"github.com/streamshift/streamshift/internal/routing"
)

// hopByHop are the headers that belong to one connection (RFC 9110, section 7.6.1, and what is common practice).
var hopByHop = []string{
	"Connection", "Proxy-Connection", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Expect", "Proxy-Authenticate", "Proxy-Authorization",
}

// credentials are the headers that say who asks. They are the gateway's to look at: a node that gets hold of them could ask in the
// client's name elsewhere.
var credentials = []string{"Authorization", "Cookie"}

// headerProto tells a node how the client speaks to the gateway.
const headerProto = "X-Forwarded-Proto"

// forNode returns the headers of a request as nodes are sent them.
func forNode(r *http.Request) http.Header {
	kept := endToEnd(r.Header)
	for _, name := range credentials {
		kept.Del(name)
	}
	if r.TLS != nil {
		kept.Set(headerProto, "https")
	} else if kept.Get(headerProto) == "" {
		kept.Set(headerProto, "http")
	}
	return kept
}

// endToEnd returns a copy of the headers that pass through a gateway, in either direction.
func endToEnd(h http.Header) http.Header {
	kept := h.Clone()
	for _, list := range h.Values("Connection") {
		for name := range strings.SplitSeq(list, ",") {
			kept.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		kept.Del(name)
	}
	routing.StripHeaders(kept)
	return kept
}
