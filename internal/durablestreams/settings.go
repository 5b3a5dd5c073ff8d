package durablestreams

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// DefaultContentType is the content type of a stream that was created without one.
	DefaultContentType = "application/octet-stream"

	// maxTTL bounds Stream-TTL: a hundred years, far below what overflows a time.Duration.
	maxTTL = 100 * 365 * 24 * time.Hour
	// maxContentTypeBytes bounds a content type.
	maxContentTypeBytes = 256
)

// Settings is the configuration of a stream that its creator chose. It never changes.
type Settings struct {
	// ContentType is the media type as it was given, with its parameters.
	ContentType string
	// TTL is for how long the stream lives after its last read or write; nil: for ever. Whole seconds, may be 0.
	TTL *time.Duration
	// ExpiresAt is when the stream ends, whatever happens; nil: never. At most one of TTL and ExpiresAt is set.
	ExpiresAt *time.Time
}

// Same tells whether two configurations are the same for a PUT that ensures that a stream exists. Media types are
// compared without case and parameters.
func (s Settings) Same(other Settings) bool {
	return mediaType(s.ContentType) == mediaType(other.ContentType) &&
		equal(s.TTL, other.TTL, func(a, b time.Duration) bool { return a == b }) &&
		equal(s.ExpiresAt, other.ExpiresAt, time.Time.Equal)
}

// Expiry returns when the stream ends if it is not accessed after lastAccess, and false where it never does.
func (s Settings) Expiry(lastAccess time.Time) (time.Time, bool) {
	switch {
	case s.ExpiresAt != nil:
		return *s.ExpiresAt, true
	case s.TTL != nil:
		return lastAccess.Add(*s.TTL), true
	}
	return time.Time{}, false
}

// expires tells whether the stream has an end at all.
func (s Settings) expires() bool { return s.TTL != nil || s.ExpiresAt != nil }

func equal[T any](a, b *T, same func(a, b T) bool) bool {
	if a == nil || b == nil {
		return a == b
	}
	return same(*a, *b)
}

// mediaType returns type/subtype in lower case, without parameters.
func mediaType(contentType string) string {
	name, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(name))
}

// encoding is how the messages of a stream become bytes of an answer.
type encoding int

const (
	// encodingBytes concatenates the messages.
	encodingBytes encoding = iota
	// encodingText concatenates them too, and they can be lines of an event stream.
	encodingText
	// encodingJSON makes them elements of an array.
	encodingJSON
)

func (s Settings) encoding() encoding {
	switch name := mediaType(s.ContentType); {
	case name == "application/json":
		return encodingJSON
	case strings.HasPrefix(name, "text/"):
		return encodingText
	}
	return encodingBytes
}

// parseSettings reads the headers of a PUT.
func parseSettings(h http.Header) (Settings, *Problem) {
	s := Settings{ContentType: DefaultContentType}
	if given := strings.TrimSpace(h.Get("Content-Type")); given != "" {
		if p := checkContentType(given); p != nil {
			return Settings{}, p
		}
		s.ContentType = given
	}
	ttl, hasTTL, p := single(h, headerTTL)
	if p != nil {
		return Settings{}, p
	}
	expiresAt, hasExpiresAt, p := single(h, headerExpiresAt)
	if p != nil {
		return Settings{}, p
	}
	switch {
	case hasTTL && hasExpiresAt:
		return Settings{}, invalid("Stream-TTL and Stream-Expires-At exclude each other.")
	case hasTTL:
		duration, p := parseTTL(ttl)
		if p != nil {
			return Settings{}, p
		}
		s.TTL = &duration
	case hasExpiresAt:
		at, err := time.Parse(time.RFC3339, expiresAt)
		if err != nil {
			return Settings{}, invalid("Stream-Expires-At is not an RFC 3339 timestamp.")
		}
		s.ExpiresAt = &at
	}
	return s, nil
}

func checkContentType(given string) *Problem {
	if len(given) > maxContentTypeBytes {
		return beyondLimit(http.StatusBadRequest, "The Content-Type is longer than the limit of %d bytes.", maxContentTypeBytes)
	}
	if name, _, err := mime.ParseMediaType(given); err != nil || !strings.Contains(name, "/") {
		return invalid("The Content-Type is not a media type.")
	}
	return nil
}

// parseTTL accepts decimal seconds without sign, leading zeros, fraction or exponent.
func parseTTL(value string) (time.Duration, *Problem) {
	seconds, ok := parseDecimal(value)
	if !ok {
		return 0, invalid("Stream-TTL is not a whole number of seconds in plain decimal notation.")
	}
	if seconds > int64(maxTTL/time.Second) {
		return 0, beyondLimit(http.StatusBadRequest, "Stream-TTL is above the limit of %d seconds.", maxTTL/time.Second)
	}
	return time.Duration(seconds) * time.Second, nil
}

// parseDecimal accepts 0 and digits that do not start with 0, up to the largest int64.
func parseDecimal(value string) (int64, bool) {
	if value == "" || (value[0] == '0' && value != "0") {
		return 0, false
	}
	for _, c := range []byte(value) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return n, err == nil
}

// single returns the value of a header that may be given once.
func single(h http.Header, name string) (value string, given bool, p *Problem) {
	switch values := h.Values(name); len(values) {
	case 0:
		return "", false, nil
	case 1:
		return values[0], true, nil
	default:
		return "", false, invalid("%s is given more than once.", name)
	}
}
