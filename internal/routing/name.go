package routing

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/streamshift/streamshift/internal/routing/streamname"
)

const (
	// PathPrefix is where every stream URL starts.
	PathPrefix = "/v1/stream/"
	// MaxObjectNameBytes bounds the name of a Stream object.
	MaxObjectNameBytes = streamname.MaxObjectBytes
	// MaxEscapedNameBytes bounds a stream name that is no DNS-1123 subdomain.
	MaxEscapedNameBytes = streamname.MaxEscapedBytes

	// reservedSegment is kept free for the protocol's subscriptions, which are not offered.
	reservedSegment = "__ds"
)

var (
	// ErrNoStreamPath tells that a path is not the URL of a stream at all.
	ErrNoStreamPath = errors.New("the path is not /v1/stream/NAMESPACE/NAME")
	// ErrReservedPath tells that a path belongs to a part of the protocol that is not offered.
	ErrReservedPath = errors.New("paths that start with " + reservedSegment + " are reserved for subscriptions, which are not offered")
	// ErrBadName tells that a path names a stream that cannot exist.
	ErrBadName = streamname.ErrBad
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
	case several && streamname.IsLabel(first):
		namespace, name = first, tail
	}
	object, err := ObjectName(name)
	if err != nil {
		return Stream{}, err
	}
	return Stream{Namespace: namespace, Name: object}, nil
}

// ObjectName maps a stream's name, as it stands in a URL, to the name of its Stream object; see streamname.Object.
func ObjectName(name string) (string, error) { return streamname.Object(name) }

// ClientName is the inverse of ObjectName; see streamname.Client.
func ClientName(object string) string { return streamname.Client(object) }
