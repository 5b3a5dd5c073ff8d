package durablestreams

import (
	"net/http"
	"strings"
)

// Header names of the protocol, in canonical form.
const (
	headerNextOffset   = "Stream-Next-Offset"
	headerUpToDate     = "Stream-Up-To-Date"
	headerCursor       = "Stream-Cursor"
	headerSeq          = "Stream-Seq"
	headerTTL          = "Stream-Ttl"
	headerExpiresAt    = "Stream-Expires-At"
	headerStreamClosed = "Stream-Closed"
	headerForkedFrom   = "Stream-Forked-From"
	headerForkOffset   = "Stream-Fork-Offset"
	headerDataEncoding = "Stream-Sse-Data-Encoding"

	headerProducerID       = "Producer-Id"
	headerProducerEpoch    = "Producer-Epoch"
	headerProducerSeq      = "Producer-Seq"
	headerProducerExpected = "Producer-Expected-Seq"
	headerProducerReceived = "Producer-Received-Seq"
)

// Caching, by what an answer holds. A stream that expires is never cached without revalidation: a cached read would
// neither slide its TTL nor end with it.
const (
	cacheNever      = "no-store"
	cacheRevalidate = "no-cache"
	cacheChunk      = "max-age=60, stale-while-revalidate=300"
)

var (
	allowedMethods = strings.Join([]string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions,
	}, ", ")
	allowedHeaders = strings.Join([]string{
		"Content-Type", "Authorization", "Accept", "If-None-Match", "Cache-Control", headerSeq, headerTTL, headerExpiresAt,
		headerStreamClosed, headerForkedFrom, headerForkOffset, headerProducerID, headerProducerEpoch, headerProducerSeq,
	}, ", ")
	exposedHeaders = strings.Join([]string{
		"Content-Type", "Content-Encoding", "ETag", "Location", "Retry-After", "Vary", headerNextOffset, headerUpToDate,
		headerCursor, headerTTL, headerExpiresAt, headerStreamClosed, headerDataEncoding, headerProducerEpoch,
		headerProducerSeq, headerProducerExpected, headerProducerReceived,
	}, ", ")
)

// SetBaseHeaders sets what every answer carries, errors included: the protocol's browser security headers (section
// 10.7) and the CORS headers that let scripts of any origin use a stream. It sets no Cache-Control.
func SetBaseHeaders(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	// Streams hold whatever their writers sent, under any content type. Opened in a browser it must run no script with
	// the rights of this origin.
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Access-Control-Allow-Origin", "*")
	h.Set("Access-Control-Expose-Headers", exposedHeaders)
}

// ServeOptions answers a preflight request. It is the same for every stream, whether it exists or not.
func ServeOptions(w http.ResponseWriter) {
	h := w.Header()
	SetBaseHeaders(h)
	h.Set("Access-Control-Allow-Methods", allowedMethods)
	h.Set("Access-Control-Allow-Headers", allowedHeaders)
	h.Set("Access-Control-Max-Age", "86400")
	h.Set("Allow", allowedMethods)
	w.WriteHeader(http.StatusNoContent)
}
