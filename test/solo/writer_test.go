package solo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// record is what writers append.
type record struct {
	Writer  string `json:"writer"`
	Number  int    `json:"number"`
	Padding string `json:"padding"`
}

// maxPadding bounds the size of a record.
const maxPadding = 2048

// fate is what a writer knows of a record.
type fate int

const (
	// unknown: no server has answered for it. A producer repeats it until one does.
	unknown fate = iota
	acked
)

// kind is how a writer appends.
type kind int

const (
	// producer appends with producer headers and repeats; plain sends each record once.
	producer kind = iota
	plain
)

// writer appends one record after the other.
type writer struct {
	fleet  *fleet
	name   string
	stream int
	kind   kind
	random *rand.Rand
	// sent holds the fate of every record, by its number.
	sent []fate
}

func streamURL(server string, stream int) string {
	return fmt.Sprintf("%s/v1/stream/kill/s%d", server, stream)
}

// run appends until last is closed; a producer's last record is repeated until it is acknowledged.
func (w *writer) run(ctx context.Context, last <-chan struct{}) {
	created := "" // the server that was told of the stream
	for ctx.Err() == nil {
		select {
		case <-last:
			return
		default:
		}
		w.sent = append(w.sent, unknown)
		n := len(w.sent) - 1
		body, err := json.Marshal(record{Writer: w.name, Number: n, Padding: strings.Repeat("x", w.random.IntN(maxPadding))})
		if err != nil {
			panic(err) // a struct of strings and numbers
		}
		for ctx.Err() == nil {
			url, _, changed := w.fleet.look()
			if url != "" && (created == url || send(ctx, http.MethodPut, streamURL(url, w.stream), nil, nil)) {
				created = url
				if send(ctx, http.MethodPost, streamURL(url, w.stream), w.header(n), body) {
					w.sent[n] = acked
					w.fleet.acknowledged()
					break
				}
			}
			w.awaitNext(ctx, url, changed)
			if w.kind == plain {
				break
			}
		}
	}
}

// retryAfter is when a server that failed a request is asked again, though no other one has come.
const retryAfter = time.Second

// awaitNext waits until the server is another one, or a while.
func (w *writer) awaitNext(ctx context.Context, url string, changed <-chan struct{}) {
	again := time.NewTimer(retryAfter)
	defer again.Stop()
	for now := url; now == url; {
		select {
		case <-changed:
			now, _, changed = w.fleet.look()
		case <-again.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (w *writer) header(n int) http.Header {
	if w.kind == plain {
		return nil
	}
	return http.Header{"Producer-Id": {w.name}, "Producer-Epoch": {"0"}, "Producer-Seq": {strconv.Itoa(n)}}
}

// send sends one request and tells whether it succeeded.
func send(ctx context.Context, method, url string, header http.Header, body []byte) bool {
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		panic(err) // the URL is ours
	}
	if header != nil {
		r.Header = header
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, response.Body)
	_ = response.Body.Close()
	return err == nil && response.StatusCode < 300
}

// readJSON reads a whole stream.
func readJSON(ctx context.Context, url string) ([]record, error) {
	var all []record
	for offset := "-1"; ; {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"?offset="+offset, http.NoBody)
		if err != nil {
			return nil, err
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			return nil, err
		}
		var some []record
		err = json.NewDecoder(response.Body).Decode(&some)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("reading at %s: status %d: %w", offset, response.StatusCode, err)
		}
		all = append(all, some...)
		if response.Header.Get("Stream-Up-To-Date") == "true" {
			return all, nil
		}
		offset = response.Header.Get("Stream-Next-Offset")
	}
}
