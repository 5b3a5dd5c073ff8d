package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/streamshift/streamshift/internal/engine/store"
)

// ErrNotDeleted tells that Remove found no record of the stream's deletion at the end of its log.
var ErrNotDeleted = errors.New("the log does not end with the record of the stream's deletion")

// removePage is how many keys Remove lists at once.
const removePage = 1000

// Remove carries out a deletion that Session.Delete recorded: it deletes all objects of the stream, the record last. So
// it may be repeated after it was cut short. A stream without objects is removed already.
func Remove(ctx context.Context, s store.Store, stream string) error {
	if err := checkIdentity(stream); err != nil {
		return fmt.Errorf("removing the stream: checking its name: %w", err)
	}
	if err := remove(ctx, s, stream); err != nil {
		return fmt.Errorf("removing stream %s: %w", stream, err)
	}
	return nil
}

func remove(ctx context.Context, s store.Store, stream string) error {
	record, err := findDeletion(ctx, s, stream)
	if err != nil || record == "" {
		return err
	}
	after := ""
	for {
		keys, err := s.List(ctx, stream+"/", after, removePage)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if key == record {
				continue
			}
			if err := s.Delete(ctx, key); err != nil {
				return err
			}
		}
		if len(keys) == 0 {
			break
		}
		after = keys[len(keys)-1]
	}
	return s.Delete(ctx, record)
}

// findDeletion returns the key of the record of the deletion, or nothing where the stream has no object.
func findDeletion(ctx context.Context, s store.Store, stream string) (string, error) {
	last, after := "", ""
	for {
		keys, err := s.List(ctx, stream+"/", after, removePage)
		if err != nil {
			return "", err
		}
		if len(keys) == 0 {
			break
		}
		after = keys[len(keys)-1]
		for _, key := range keys {
			if strings.HasPrefix(key, stream+"/log/") {
				last = key
			}
		}
	}
	if after == "" {
		return "", nil
	}
	if last == "" {
		return "", ErrNotDeleted
	}
	data, err := s.Get(ctx, last)
	if err != nil {
		return "", err
	}
	found, err := decodeSegment(data)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", last, err)
	}
	if found.kind != segmentDeletion || found.stream != stream {
		return "", ErrNotDeleted
	}
	return last, nil
}
