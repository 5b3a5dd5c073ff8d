package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// writerKind says how a writer appends.
type writerKind int

const (
	// plainAppender sends a record once. Where the answer is not success, the record may or may not be stored.
	plainAppender writerKind = iota
	// idempotentProducer sends a record with its identity, and again until the answer is success.
	idempotentProducer
)

// retryPause is how long a client rests after a failed request.
const retryPause = 50 * time.Millisecond

// writer appends numbered records, one after the other.
type writer struct {
	run  *Run
	name string
	kind writerKind

	mu           sync.Mutex
	attempts     []attempt
	acknowledged int
}

func (w *writer) write(ctx context.Context) {
	for number := 0; ; number++ {
		if !w.append(ctx, record{Writer: w.name, Number: number}) {
			return
		}
		if !w.rest(ctx, w.run.options.Pause) {
			return
		}
	}
}

// append sends the record, again where the kind allows it, and returns false when the writer shall stop. A record that was
// sent is waited for: stopping leaves no append without its answer.
func (w *writer) append(ctx context.Context, next record) bool {
	body, err := next.encode(w.run.options.RecordBytes)
	if err != nil {
		w.run.faults.add(w.name, err)
		return false
	}
	index := w.begin(next)
	for {
		err := w.send(ctx, next.Number, body)
		if err == nil {
			w.acknowledge(index)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		w.run.faults.add(w.name, err)
		if !w.rest(ctx, retryPause) {
			return false
		}
		switch w.kind {
		case plainAppender:
			return true // and on with the next record
		case idempotentProducer:
		}
	}
}

func (w *writer) send(ctx context.Context, number int, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.run.options.URL, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("making an append: %w", err)
	}
	request.Header.Set("Content-Type", contentType)
	if w.kind == idempotentProducer {
		request.Header.Set("Producer-Id", w.name)
		request.Header.Set("Producer-Epoch", "0")
		request.Header.Set("Producer-Seq", strconv.Itoa(number))
	}
	response, err := w.run.client.Do(request)
	if err != nil {
		return fmt.Errorf("appending record %d: %w", number, err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, 1000))
	if err != nil {
		return fmt.Errorf("reading the answer to record %d: %w", number, err)
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNoContent {
		return fmt.Errorf("appending record %d: %s: %s", number, response.Status, strings.TrimSpace(string(answer)))
	}
	return nil
}

// rest waits, and returns false when the writer shall stop.
func (w *writer) rest(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-w.run.stopWriting:
		return false
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (w *writer) begin(next record) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	next.Padding = ""
	w.attempts = append(w.attempts, attempt{record: next, sent: time.Now()})
	return len(w.attempts) - 1
}

func (w *writer) acknowledge(index int) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempts[index].acknowledged = now
	w.acknowledged++
}

func (w *writer) acknowledgedCount() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.acknowledged
}

func (w *writer) attemptsSoFar() []attempt {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]attempt(nil), w.attempts...)
}
