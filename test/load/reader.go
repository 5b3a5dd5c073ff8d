package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	offsetBeginning  = "-1"
	headerNextOffset = "Stream-Next-Offset"
	headerUpToDate   = "Stream-Up-To-Date"
	headerCursor     = "Stream-Cursor"
)

// reader follows the stream from its beginning by long-poll.
type reader struct {
	run  *Run
	name string

	mu      sync.Mutex
	offset  string
	records []record
	moved   chan struct{} // closed, and replaced, when offset changes
}

func newReader(run *Run, name string) *reader {
	return &reader{run: run, name: name, offset: offsetBeginning, moved: make(chan struct{})}
}

// follow reads until the context ends. A request that fails is repeated at the same offset.
func (r *reader) follow(ctx context.Context) {
	cursor := ""
	for ctx.Err() == nil {
		page, err := r.run.read(ctx, r.offset, "long-poll", cursor)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			r.run.faults.add(r.name, err)
			timer := time.NewTimer(retryPause)
			select {
			case <-ctx.Done():
			case <-timer.C:
			}
			continue
		}
		cursor = page.cursor
		r.take(page)
	}
}

func (r *reader) take(page page) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, page.records...)
	if page.next != r.offset {
		r.offset = page.next
		close(r.moved)
		r.moved = make(chan struct{})
	}
}

// readUntil waits until the reader has come to the offset, and returns all that it read.
func (r *reader) readUntil(ctx context.Context, tail string) ([]record, error) {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	for {
		r.mu.Lock()
		offset, records, moved := r.offset, r.records, r.moved
		r.mu.Unlock()
		if offset == tail {
			return records, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s to reach offset %s: it is at %s with %d records: %w", r.name, tail, offset, len(records), ctx.Err())
		}
	}
}

// page is the answer to one read.
type page struct {
	records  []record
	next     string
	cursor   string
	upToDate bool
}

// readBack reads the stream from its beginning to its end and returns the records and the offset of the end.
func (r *Run) readBack(ctx context.Context) ([]record, string, error) {
	var all []record
	offset := offsetBeginning
	for {
		page, err := r.read(ctx, offset, "", "")
		if err != nil {
			return nil, "", fmt.Errorf("reading the stream back: %w", err)
		}
		all = append(all, page.records...)
		if page.upToDate {
			return all, page.next, nil
		}
		if page.next == offset {
			return nil, "", fmt.Errorf("reading the stream back: the read at offset %s makes no progress and is not at the end", offset)
		}
		offset = page.next
	}
}

func (r *Run) read(ctx context.Context, offset, live, cursor string) (page, error) {
	query := url.Values{"offset": {offset}}
	if live != "" {
		query.Set("live", live)
	}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.options.URL+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return page{}, fmt.Errorf("making a read: %w", err)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return page{}, fmt.Errorf("reading at offset %s: %w", offset, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return page{}, fmt.Errorf("reading the answer at offset %s: %w", offset, err)
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNoContent {
		return page{}, fmt.Errorf("reading at offset %s: %s: %s", offset, response.Status, strings.TrimSpace(string(body)))
	}
	answer := page{
		next:     response.Header.Get(headerNextOffset),
		cursor:   response.Header.Get(headerCursor),
		upToDate: response.Header.Get(headerUpToDate) == "true",
	}
	if answer.next == "" {
		return page{}, fmt.Errorf("reading at offset %s: the answer has no %s", offset, headerNextOffset)
	}
	if answer.records, err = decodeRecords(body); err != nil {
		return page{}, fmt.Errorf("reading at offset %s: %w", offset, err)
	}
	return answer, nil
}
