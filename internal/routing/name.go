package routing

import (
	"encoding/base32"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

const (
	// PathPrefix is where every stream URL starts.
	PathPrefix = "/v1/stream/"
	// MaxObjectNameBytes bounds the name of a Stream object, as Kubernetes bounds every DNS-1123 subdomain.
	MaxObjectNameBytes = 253
	// MaxEscapedNameBytes bounds a stream name that is no DNS-1123 subdomain: five bytes of a name become eight
	// characters of the object's.
	MaxEscapedNameBytes = (MaxObjectNameBytes - len(escapePrefix)) * 5 / 8

	maxLabelBytes = 63
	// escapePrefix starts the object name of every stream whose name is not itself usable as one. A name that starts
	// with it is escaped too, so no two stream names share an object name.
	escapePrefix = "x--"
	// reservedSegment is kept free for the protocol's subscriptions, which are not offered.
	reservedSegment = "__ds"
)

// escapeEncoding is base32hex in lower case without padding: every character may stand anywhere in a DNS label.
var escapeEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

var (
	// ErrNoStreamPath tells that a path is not the URL of a stream at all.
	ErrNoStreamPath = errors.New("the path is not /v1/stream/<namespace>/<name>")
	// ErrReservedPath tells that a path belongs to a part of the protocol that is not offered.
	ErrReservedPath = errors.New("paths that start with " + reservedSegment + " are reserved for subscriptions, which are not offered")
	// ErrBadName tells that a path names a stream that cannot exist.
	ErrBadName = errors.New("bad stream name")
)

// Stream names a stream as Kubernetes does: the namespace and name of its Stream object.
type Stream struct {
	Namespace, Name string
}

// String returns "namespace/name".
func (s Stream) String() string { return s.Namespace + "/" + s.Name }

// Path returns the URL path of the stream, escaped for a request line. ParsePath of its decoded form returns the stream
// again, whatever the default namespace is.
func (s Stream) Path() string {
	segments := strings.Split(ClientName(s.Name), "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return PathPrefix + s.Namespace + "/" + strings.Join(segments, "/")
}

// ParsePath returns the stream that a decoded URL path names. /v1/stream/<namespace>/<name> is taken literally; the name
// may have several segments. Where there is one segment only, or the first is no DNS label, the whole is the name of a
// stream in the default namespace. The error wraps ErrNoStreamPath, ErrReservedPath or ErrBadName and is one sentence
// for the client.
func ParsePath(path, defaultNamespace string) (Stream, error) {
	rest, ok := strings.CutPrefix(path, PathPrefix)
	if !ok || rest == "" {
		return Stream{}, ErrNoStreamPath
	}
	for segment := range strings.SplitSeq(rest, "/") {
		switch segment {
		case "", ".", "..":
			return Stream{}, fmt.Errorf("%w: a segment of the path is empty, \".\" or \"..\"", ErrBadName)
		}
	}
	namespace, name := defaultNamespace, rest
	first, tail, several := strings.Cut(rest, "/")
	switch {
	case first == reservedSegment:
		return Stream{}, ErrReservedPath
	case several && isLabel(first):
		namespace, name = first, tail
	}
	object, err := ObjectName(name)
	if err != nil {
		return Stream{}, err
	}
	return Stream{Namespace: namespace, Name: object}, nil
}

// ObjectName maps a stream's name, as it stands in a URL, to the name of its Stream object: itself where that is a
// DNS-1123 subdomain, else escapePrefix and the name's bytes in base32hex. The map is stable, and no two names share
// an object name. The error wraps ErrBadName.
func ObjectName(name string) (string, error) {
	if isSubdomain(name) && !strings.HasPrefix(name, escapePrefix) {
		return name, nil
	}
	if name == "" || len(name) > MaxEscapedNameBytes {
		return "", fmt.Errorf("%w: a name of %d bytes is too long; the limit is %d bytes, or %d where the name is a DNS-1123 subdomain",
			ErrBadName, len(name), MaxEscapedNameBytes, MaxObjectNameBytes)
	}
	return escapePrefix + escapeEncoding.EncodeToString([]byte(name)), nil
}

// ClientName is the inverse of ObjectName: the name by which clients know the stream with this object name. An object
// name that no client's name maps to is returned as it is.
func ClientName(object string) string {
	code, escaped := strings.CutPrefix(object, escapePrefix)
	if !escaped {
		return object
	}
	name, err := escapeEncoding.DecodeString(code)
	if err != nil {
		return object
	}
	if again, err := ObjectName(string(name)); err != nil || again != object {
		return object
	}
	return string(name)
}

// isSubdomain tells whether a name is a DNS-1123 subdomain: labels joined by dots.
func isSubdomain(name string) bool {
	if len(name) > MaxObjectNameBytes {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if !isLabelText(label) {
			return false
		}
	}
	return true
}

// isLabel tells whether a name is a DNS-1123 label, as a namespace's is.
func isLabel(name string) bool { return len(name) <= maxLabelBytes && isLabelText(name) }

// isLabelText tells whether a text is of lower-case letters, digits and inner hyphens, and not empty.
func isLabelText(text string) bool {
	if text == "" || text[0] == '-' || text[len(text)-1] == '-' {
		return false
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-':
		default:
			return false
		}
	}
	return true
}
