package history

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// pageTries bounds how often reading the stream back repeats one page.
const pageTries = 200

// page is the answer to one read.
type page struct {
	Read

	upToDate bool
}

// read reads from an offset on; live is "" or "long-poll". A read that fails is no part of the history.
func (r *Recording) read(ctx context.Context, reader string, from int64, live string) (page, error) {
	url := fmt.Sprintf("%s?offset=%019d", r.options.URL, from)
	if from == 0 {
		url = r.options.URL + "?offset=-1"
	}
	if live != "" {
		url += "&live=" + live
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return page{}, fmt.Errorf("making a read: %w", err)
	}
	p := page{Read: Read{Reader: reader, From: from, Called: r.since()}}
	response, err := r.client.Do(request)
	if err != nil {
		return page{}, fmt.Errorf("reading from %d: %w", from, err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerLimit))
	if err != nil {
		return page{}, fmt.Errorf("reading the answer from %d: %w", from, err)
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNoContent {
		return page{}, fmt.Errorf("reading from %d: %s: %.300s", from, response.Status, strings.TrimSpace(string(body)))
	}
	p.Returned = r.since()
	p.upToDate = response.Header.Get("Stream-Up-To-Date") == "true"
	if p.Next, err = strconv.ParseInt(response.Header.Get("Stream-Next-Offset"), 10, 64); err != nil {
		return page{}, fmt.Errorf("reading where %d goes on: %w", from, err)
	}
	if p.Records, err = decodeRecords(body); err != nil {
		return page{}, err
	}
	return p, nil
}

// take makes an answered read part of the history.
func (r *Recording) take(p page) {
	r.note(func(h *History) { h.Reads = append(h.Reads, p.Read) })
}

// follow reads along from the beginning by long-poll.
func (r *Recording) follow(ctx context.Context, name string) {
	at := int64(0)
	for ctx.Err() == nil {
		p, err := r.read(ctx, name, at, "long-poll")
		if err != nil {
			r.note(func(h *History) { h.Failures++ })
			pause(ctx, retryPause)
			continue
		}
		r.take(p)
		at = p.Next
	}
}

// sampleBack is how many records before the end a sampler goes back, in turn.
var sampleBack = []int64{0, 100, 1000}

// sample reads a page from the end of what it knows, and from some records before it.
func (r *Recording) sample(ctx context.Context, name string) {
	end := int64(0)
	for turn := 0; ctx.Err() == nil; turn++ {
		from := max(0, end-sampleBack[turn%len(sampleBack)]*RecordBytes)
		p, err := r.read(ctx, name, from, "")
		if err != nil {
			r.note(func(h *History) { h.Failures++ })
			pause(ctx, retryPause)
			continue
		}
		r.take(p)
		end = max(end, p.Next)
		pause(ctx, samplePause)
	}
}

func pause(ctx context.Context, length time.Duration) {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// readBack reads the whole stream, whatever it takes.
func (r *Recording) readBack(ctx context.Context) ([]Record, error) {
	var all []Record
	at, failed := int64(0), 0
	for {
		p, err := r.read(ctx, "judge", at, "")
		switch {
		case err != nil && failed < pageTries && ctx.Err() == nil:
			failed++
			pause(ctx, retryPause)
			continue
		case err != nil:
			return nil, fmt.Errorf("reading the stream back: %w", err)
		case p.Next == at && !p.upToDate:
			return nil, fmt.Errorf("reading the stream back: the read at %d makes no progress and is not at the end", at)
		}
		all, at, failed = append(all, p.Records...), p.Next, 0
		if p.upToDate {
			return all, nil
		}
	}
}
