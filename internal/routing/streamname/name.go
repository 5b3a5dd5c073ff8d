package streamname

import (
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
)

const (
	// MaxObjectBytes bounds the name of a Stream object, as Kubernetes bounds every DNS-1123 subdomain.
	MaxObjectBytes = 253
	// MaxEscapedBytes bounds a stream name that is no DNS-1123 subdomain: five bytes of a name become eight characters of the
	// object's.
	MaxEscapedBytes = (MaxObjectBytes - len(escapePrefix)) * 5 / 8

	maxLabelBytes = 63
	// escapePrefix starts the object name of every stream whose name is not itself usable as one. A name that starts
	// with it is escaped too, so no two stream names share an object name.
	escapePrefix = "x--"
)

// escapeEncoding is base32hex in lower case without padding: every character may stand anywhere in a DNS label.
var escapeEncoding = base32.NewEncoding("0123456789abcdefghijklmnopqrstuv").WithPadding(base32.NoPadding)

// ErrBad tells that no stream can have this name.
var ErrBad = errors.New("bad stream name")

// Object maps a stream's name, as it stands in a URL, to the name of its Stream object: itself where that is a
// DNS-1123 subdomain, else escapePrefix and the name's bytes in base32hex. The map is stable, and no two names share
// an object name. The error wraps ErrBad.
func Object(name string) (string, error) {
	if isSubdomain(name) && !strings.HasPrefix(name, escapePrefix) {
		return name, nil
	}
	if name == "" || len(name) > MaxEscapedBytes {
		return "", fmt.Errorf("%w: a name of %d bytes is too long; the limit is %d bytes, or %d where the name is a DNS-1123 subdomain",
			ErrBad, len(name), MaxEscapedBytes, MaxObjectBytes)
	}
	return escapePrefix + escapeEncoding.EncodeToString([]byte(name)), nil
}

// Client is the inverse of Object: the name by which clients know the stream with this object name. An object
// name that no client's name maps to is returned as it is.
func Client(object string) string {
	code, escaped := strings.CutPrefix(object, escapePrefix)
	if !escaped {
		return object
	}
	name, err := escapeEncoding.DecodeString(code)
	if err != nil {
		return object
	}
	if again, err := Object(string(name)); err != nil || again != object {
		return object
	}
	return string(name)
}

// isSubdomain tells whether a name is a DNS-1123 subdomain: labels joined by dots.
func isSubdomain(name string) bool {
	if len(name) > MaxObjectBytes {
		return false
	}
	for label := range strings.SplitSeq(name, ".") {
		if !isLabelText(label) {
			return false
		}
	}
	return true
}

// IsLabel tells whether a name is a DNS-1123 label, as a namespace's is.
func IsLabel(name string) bool { return len(name) <= maxLabelBytes && isLabelText(name) }

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
