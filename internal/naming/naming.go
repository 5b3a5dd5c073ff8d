// Package naming fits the names of streams and nodes into the names and label values of the objects that are made for them. It is pure.
package naming

import (
	"crypto/sha256"
	"encoding/hex"
)

const (
	// maxName and maxLabel are Kubernetes' limits, in bytes.
	maxName  = 253
	maxLabel = 63
	// hashDigits of a SHA-256, in hexadecimal, tell shortened texts apart.
	hashDigits = 12
)

// Object returns prefix, name and suffix as the name of an object, where the name is shortened if there is no room for it.
func Object(prefix, name, suffix string) string {
	return prefix + shortened(name, maxName-len(prefix)-len(suffix)) + suffix
}

// Label returns the name as the value of a label, shortened if it has to be.
func Label(name string) string { return shortened(name, maxLabel) }

// shortened returns the text if it is at most limit bytes long; else its beginning and a hash of the whole of it.
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return text[:limit-hashDigits-1] + "-" + hex.EncodeToString(sum[:])[:hashDigits]
}
