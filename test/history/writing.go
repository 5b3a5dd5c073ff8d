package history

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// kind says how a writer appends.
type kind int

const (
	// producer sends a record with its identity, and again until the answer is success.
	producer kind = iota
	// appender sends a record once.
	appender
)

// answer is what became of one attempt.
type answer struct {
	outcome Outcome
	// end is the offset behind the record, where the answer is about this very attempt; 0 otherwise.
	end int64
	// fault says why the answer is one that no client should ever get.
	fault string
}

// write appends numbered records, one after the other, until the recording stops.
func (r *Recording) write(ctx context.Context, name string, as kind) {
	for number := 0; ctx.Err() == nil; number++ {
		a := Append{Record: Record{name, number}, Called: r.since()}
		r.append(ctx, &a, as)
		a.Returned = r.since()
		r.note(func(h *History) { h.Appends = append(h.Appends, a) })
		if a.Outcome == Acknowledged {
			r.acknowledged.Add(1)
		}
		if !r.rest(ctx, r.options.Pause) {
			return
		}
	}
}

// append makes attempts as the kind allows. A producer goes on after the recording stops, until it is answered.
func (r *Recording) append(ctx context.Context, a *Append, as kind) {
	for attempt := 0; ctx.Err() == nil; attempt++ {
		got := r.send(ctx, a.Record, as)
		if got.fault != "" {
			r.note(func(h *History) { h.Faults = append(h.Faults, got.fault) })
			return
		}
		a.Outcome = got.outcome
		if got.outcome == Acknowledged {
			a.End = got.end
			return
		}
		r.note(func(h *History) { h.Failures++ })
		switch as {
		case appender:
			return
		case producer:
			a.Outcome = Unknown // whatever comes of it later
			r.rest(ctx, retryPause)
		}
	}
}

func (r *Recording) send(ctx context.Context, record Record, as kind) answer {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.options.URL, bytes.NewReader(record.encode()))
	if err != nil {
		return answer{fault: err.Error()}
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	if as == producer {
		request.Header.Set("Producer-Id", record.Writer)
		request.Header.Set("Producer-Epoch", "0")
		request.Header.Set("Producer-Seq", strconv.Itoa(record.Number))
	}
	response, err := r.client.Do(request)
	if err != nil {
		return answer{outcome: Unknown}
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1000))
	if err != nil && response.StatusCode >= http.StatusMultipleChoices {
		return answer{outcome: Unknown}
	}
	return judgeAnswer(response, record, as, strings.TrimSpace(string(text)))
}

// judgeAnswer reads a status as the protocol means it.
func judgeAnswer(response *http.Response, record Record, as kind, text string) answer {
	end, _ := strconv.ParseInt(response.Header.Get("Stream-Next-Offset"), 10, 64)
	switch status := response.StatusCode; {
	case status == http.StatusOK, status == http.StatusNoContent && as == appender:
		return answer{outcome: Acknowledged, end: end}
	case status == http.StatusNoContent: // a producer's repetition: the offset is the stream's end
		return answer{outcome: Acknowledged}
	case status == http.StatusServiceUnavailable && response.Header.Get("Retry-After") == "":
		return answer{outcome: Unknown}
	case status == http.StatusServiceUnavailable, status == http.StatusTooManyRequests:
		return answer{outcome: Refused}
	case status >= http.StatusInternalServerError:
		return answer{outcome: Unknown}
	}
	return answer{fault: fmt.Sprintf("fault: the append of %s was answered %s: %s", record, response.Status, text)}
}
