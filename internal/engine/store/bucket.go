package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/gcsblob"   // gs://
	_ "gocloud.dev/blob/memblob"   // mem://
	_ "gocloud.dev/blob/s3blob"    // s3://
	"gocloud.dev/gcerrors"
)

// bucket is a store of the cloud, or in memory.
type bucket struct {
	blobs *blob.Bucket
}

var _ Store = (*bucket)(nil)

func openBucket(ctx context.Context, u *url.URL) (*bucket, error) {
	switch u.Scheme {
	case "mem", "s3", "gs", "azblob":
	default:
		return nil, fmt.Errorf("a store's URL begins with file, mem, s3, gs or azblob, not with %q", u.Scheme)
	}
	blobs, err := blob.OpenBucket(ctx, u.String())
	if err != nil {
		return nil, fmt.Errorf("opening the store %s: %w", u.Redacted(), err)
	}
	return &bucket{blobs: blobs}, nil
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
	return translate("creating", key, err)
}

// Get implements Store.
func (b *bucket) Get(ctx context.Context, key string) ([]byte, error) {
	if err := checkKey(key); err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	data, err := b.blobs.ReadAll(ctx, key)
	if err != nil {
		return nil, translate("reading", key, err)
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
		return nil, translate("reading", key, err)
	}
	// Into a buffer of just the size: growing one costs more than reading.
	data := make([]byte, max(0, min(length, r.Size()-offset)))
	_, err = io.ReadFull(r, data)
	if closeErr := r.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, translate("reading", key, err)
	}
	return data, nil
}

// Delete implements Store.
func (b *bucket) Delete(ctx context.Context, key string) error {
	if err := checkKey(key); err != nil {
		return fmt.Errorf("deleting %s: %w", key, err)
	}
	err := b.blobs.Delete(ctx, key)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil
	}
	return translate("deleting", key, err)
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
			return nil, translate("listing", prefix, err)
		}
		if object.Key > after {
			keys = append(keys, object.Key)
		}
	}
	return keys, nil
}

// translate puts the two outcomes that callers decide by into the package's own terms.
func translate(doing, key string, err error) error {
	switch gcerrors.Code(err) { //nolint:exhaustive // every other code is an unknown outcome
	case gcerrors.OK:
		return nil
	case gcerrors.FailedPrecondition:
		return fmt.Errorf("%s %s: %w", doing, key, ErrExists)
	case gcerrors.NotFound:
		return fmt.Errorf("%s %s: %w", doing, key, ErrNotFound)
	}
	return fmt.Errorf("%s %s: %w", doing, key, err)
}
