package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/blob/memblob"
	"gocloud.dev/gcerrors"
)

// bucket is a store of the cloud, or in memory.
type bucket struct {
	blobs *blob.Bucket
	// absent tells whether an error of the provider says that the object does not exist.
	absent func(error) bool
}

var _ Store = (*bucket)(nil)

// Provider is what the package must know of one kind of bucket.
type Provider struct {
	// Absent tells whether an error is the provider's own word that the object does not exist. The providers' libraries, or
	// gocloud.dev, take more for "not found": a bucket or account that does not exist, a name that does not resolve, a refused
	// permission. To take one of these for the end of a log would be a lie.
	Absent func(error) bool
	// Prepare returns the URL to open instead; nil: the same.
	Prepare func(*url.URL) *url.URL
}

var providers = map[string]Provider{
	memblob.Scheme: {Absent: func(err error) bool { return gcerrors.Code(err) == gcerrors.NotFound }},
}

// Register makes a URL scheme of gocloud.dev/blob known. It is called while a program is initialised; see package cloud.
func Register(scheme string, provider Provider) { providers[scheme] = provider }

func openBucket(ctx context.Context, u *url.URL) (*bucket, error) {
	provider, known := providers[u.Scheme]
	if !known {
		return nil, fmt.Errorf("a store is a URL such as file:///folder that begins with file or %s, not with %q",
			strings.Join(slices.Sorted(maps.Keys(providers)), " or "), u.Scheme)
	}
	if provider.Prepare != nil {
		u = provider.Prepare(u)
	}
	blobs, err := blob.OpenBucket(ctx, u.String())
	if err != nil {
		return nil, fmt.Errorf("opening the store %s: %w", u.Redacted(), err)
	}
	return &bucket{blobs: blobs, absent: provider.Absent}, nil
}

// Create implements Store.
func (b *bucket) Create(ctx context.Context, key string, data []byte) error {
	if err := checkKey(key); err != nil {
		return fmt.Errorf("creating %s: %w", key, err)
	}
	// A large object goes up in parts; then it is the request that completes it which is conditional.
	err := b.blobs.WriteAll(ctx, key, data, &blob.WriterOptions{
		IfNotExist: true,
		// Without a type the driver would look into the data for one.
		ContentType: "application/octet-stream",
	})
	return b.translate("creating", key, err)
}

// Get implements Store.
func (b *bucket) Get(ctx context.Context, key string) ([]byte, error) {
	if err := checkKey(key); err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	data, err := b.blobs.ReadAll(ctx, key)
	if err != nil {
		return nil, b.translate("reading", key, err)
	}
	return data, nil
}

// GetRange implements Store.
func (b *bucket) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	if err := checkKey(key); err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	r, err := b.blobs.NewRangeReader(ctx, key, offset, length, nil)
	if err != nil {
		return nil, b.translate("reading", key, err)
	}
	// Into a buffer of just the size: growing one costs more than reading.
	data := make([]byte, max(0, min(length, r.Size()-offset)))
	_, err = io.ReadFull(r, data)
	if closeErr := r.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, b.translate("reading", key, err)
	}
	return data, nil
}

// Delete implements Store.
func (b *bucket) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return fmt.Errorf("deleting %s: %w", key, err)
	}
	err := b.blobs.Delete(ctx, key)
	if err != nil && b.absent(err) {
		return nil
	}
	return b.translate("deleting", key, err)
}

// List implements Store.
func (b *bucket) List(ctx context.Context, prefix, after string, limit int) ([]string, error) {
	var keys []string
	// Listing from a key on is not offered by every driver: what comes before is passed over, which only tools pay.
	objects := b.blobs.List(&blob.ListOptions{Prefix: prefix})
	for len(keys) < limit {
		object, err := objects.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, b.translate("listing", prefix, err)
		}
		if object.Key > after {
			keys = append(keys, object.Key)
		}
	}
	return keys, nil
}

// translate puts the two outcomes that callers decide by into the package's own terms. Every other one is unknown.
func (b *bucket) translate(doing, key string, err error) error {
	switch {
	case err == nil:
		return nil
	case gcerrors.Code(err) == gcerrors.FailedPrecondition:
		return fmt.Errorf("%s %s: %w", doing, key, ErrExists)
	case b.absent(err):
		return fmt.Errorf("%s %s: %w", doing, key, ErrNotFound)
	}
	return fmt.Errorf("%s %s: %w", doing, key, err)
}
