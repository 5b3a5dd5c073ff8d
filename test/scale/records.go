package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/streamshift/streamshift/internal/engine/store"
	"github.com/streamshift/streamshift/streamclient"
)

const (
	// recordWriters append batches of recordBatch records each.
	recordWriters, recordBatch = 64, 50
	// objectsAtMost bounds the objects of a stream whatever it holds, in a log whose segments are mostly merged: two anchors'
	// worth of segments and of what merging has replaced, which are deleted at the next anchor, and a chunk for each doubling.
	// Above that only one segment in 256 is kept for ever.
	objectsAtMost = 2*256 + 300
)

// tryRecords appends records and counts the objects after a quarter, a half, and all of them.
func tryRecords(ctx context.Context, p place, records int, out io.Writer) error {
	server, err := p.start(ctx, 1)
	if err != nil {
		return err
	}
	defer server.Kill()
	stream := streamclient.New(server.URL, streamclient.Options{}).Stream("scale", "records")
	if _, err := stream.Create(ctx, streamclient.CreateOptions{ContentType: "application/json"}); err != nil {
		return fmt.Errorf("creating the stream: %w", err)
	}
	objects, err := store.Open(ctx, p.storeURL)
	if err != nil {
		return fmt.Errorf("opening the store: %w", err)
	}
	done := 0
	var errs []error
	for _, until := range []int{records / 4, records / 2, records} {
		if err := appendRecords(ctx, stream, until-done); err != nil {
			return err
		}
		done = until
		keys, err := objects.List(ctx, "", "", maxObjects)
		if err != nil {
			return fmt.Errorf("listing the objects: %w", err)
		}
		held, err := peak(server)
		if err != nil {
			return err
		}
		stats, err := server.Stats(ctx)
		if err != nil {
			return err
		}
		c := count(keys)
		if _, err := fmt.Fprintf(out, "%d records: %s, of %d created; the server held up to %s\n", done, c, stats.Creates, mib(held)); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
		if limit := objectsAtMost + int(stats.Creates)/256; c.all() > limit {
			errs = append(errs, fmt.Errorf("%d records leave %d objects, the limit is %d", done, c.all(), limit))
		}
		if held > bulkMemory {
			errs = append(errs, fmt.Errorf("the server held %s, the limit is %s", mib(held), mib(bulkMemory)))
		}
	}
	return errors.Join(errs...)
}

// appendRecords appends about so many records: a whole number of batches of every writer.
func appendRecords(ctx context.Context, stream *streamclient.Stream, records int) error {
	one := `{"kind":"small","value":"0123456789012345678901234567890123456789"}`
	batch := []byte("[" + strings.Repeat(one+",", recordBatch-1) + one + "]")
	var all sync.WaitGroup
	errs := make([]error, recordWriters)
	for w := range recordWriters {
		all.Go(func() {
			for range (records + recordWriters*recordBatch - 1) / (recordWriters * recordBatch) {
				if _, errs[w] = stream.Append(ctx, batch, streamclient.AppendOptions{ContentType: "application/json"}); errs[w] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil { // the first tells as much as all 64
			return fmt.Errorf("appending records: %w", err)
		}
	}
	return nil
}
