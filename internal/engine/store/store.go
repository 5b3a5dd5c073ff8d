package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Store keeps immutable objects under keys such as "a/b/c": one or more parts of ASCII letters, digits, '.', '_' and
// '-', separated by single slashes. All methods may be called concurrently.
type Store interface {
	// Create makes an object that does not exist yet. It fails with ErrExists where the key is taken; then nothing
	// was changed. After any other error the outcome is unknown: the object may exist, or may come to exist later.
	Create(ctx context.Context, key string, data []byte) error
	// Get returns an object's bytes, or ErrNotFound.
	Get(ctx context.Context, key string) ([]byte, error)
	// GetRange returns up to length bytes from offset on, fewer only where the object ends before; or ErrNotFound.
	GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error)
	// Delete removes an object. One that does not exist is no error.
	Delete(ctx context.Context, key string) error
	// List returns up to limit keys that begin with prefix and sort behind after, in order. Opening, appending and
	// reading never list; collecting garbage and offline tools do.
	List(ctx context.Context, prefix, after string, limit int) ([]string, error)
}

var (
	// ErrExists tells that the key is taken: Create changed nothing.
	ErrExists = errors.New("object exists")
	// ErrNotFound tells that there is no such object.
	ErrNotFound = errors.New("object not found")
)

// maxKeyLength is below what every supported store allows (S3 and GCS 1024, a file name 255 a part).
const maxKeyLength = 512

// Open opens the store that a URL names: file:///folder, mem://, s3://bucket, gs://bucket or azblob://container, each
// with ?prefix=some/folder/ to share it. The other parameters are those of gocloud.dev/blob.
func Open(ctx context.Context, rawURL string) (Store, error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, fmt.Errorf("parsing the store's URL: %w", err)
	}
	u, withFaults := takeFaults(u)
	s, err := openURL(ctx, u)
	if err != nil || withFaults == nil {
		return s, err
	}
	return withFaults(s), nil
}

func openURL(ctx context.Context, u *url.URL) (Store, error) {
	if u.Scheme == "file" {
		return openFileURL(u)
	}
	return openBucket(ctx, u)
}

// checkKey refuses what one of the stores could not keep apart from another key or could not name at all.
func checkKey(key string) error {
	if key == "" || len(key) > maxKeyLength {
		return fmt.Errorf("key has %d bytes, allowed are 1 to %d", len(key), maxKeyLength)
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || strings.HasPrefix(part, ".") {
			return fmt.Errorf("key %q has a part that is empty or begins with a dot", key)
		}
	}
	for _, c := range []byte(key) {
		if !keyByte(c) {
			return fmt.Errorf("key %q holds the byte %#x", key, c)
		}
	}
	return nil
}

func keyByte(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	}
	return c == '/' || c == '.' || c == '_' || c == '-'
}
