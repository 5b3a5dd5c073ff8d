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
