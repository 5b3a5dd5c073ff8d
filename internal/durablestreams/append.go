package durablestreams

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/streamshift/streamshift/internal/engine"
)

// maxProducerNumber bounds Producer-Epoch and Producer-Seq: the largest integer that JavaScript holds exactly.
const maxProducerNumber = 1<<53 - 1

// serveAppend answers a POST. The checks come in this order: syntax of the headers, closed, content type, body,
// producer, Stream-Seq. The last two, and closed once more, are the engine's, which decides them one append at a time.
func (h *Handler) serveAppend(w http.ResponseWriter, r *http.Request, s Stream) error {
	a, p := h.parseAppendHeaders(r.Header)
	if p != nil {
		WriteProblem(w, p)
		return nil
	}
	body, release, p := h.readBody(w, r)
	if p != nil {
		WriteProblem(w, p)
		return nil
	}
	defer release()
	a.Messages, p = h.appendMessages(r.Header, body, s, a.CloseStream)
	if p != nil {
		WriteProblem(w, p)
		return nil
	}
	ctx, cancel := context.WithTimeout(r.Context(), h.limits.AppendTimeout)
	defer cancel()
	done, err := s.Log.Append(ctx, a)
	if err != nil {
		return h.refuseAppend(w, r, s, err)
	}
	// A close of a closed stream, and a repeated append, add nothing. They are accesses all the same.
	s.Log.Touch()
	writeAppended(w, a, done)
	return nil
}

func (h *Handler) parseAppendHeaders(header http.Header) (engine.Append, *Problem) {
	producer, p := h.parseProducer(header)
	if p != nil {
		return engine.Append{}, p
	}
	seq, given, p := single(header, headerSeq)
	switch {
	case p != nil:
		return engine.Append{}, p
	case given && seq == "":
		return engine.Append{}, invalid("Stream-Seq is empty.")
	case len(seq) > h.limits.TokenBytes:
		return engine.Append{}, h.tokenTooLong(headerSeq)
	}
	return engine.Append{Producer: producer, Seq: seq, CloseStream: closesStream(header)}, nil
}

// appendMessages checks the body of a POST against the stream and splits it. Without a body only a close is valid, and
// then the content type does not matter.
func (h *Handler) appendMessages(header http.Header, body []byte, s Stream, closes bool) ([][]byte, *Problem) {
	if len(body) == 0 {
		if !closes {
			return nil, invalid("An append needs a body, unless it only closes the stream.")
		}
		return nil, nil
	}
	if s.Log.Info().StreamClosed {
		// It stays closed, so this can only be refused or found to be a repetition, which comes before the content
		// type. The engine does not look at the messages then.
		return [][]byte{body}, nil
	}
	given := header.Get("Content-Type")
	if given == "" {
		return nil, invalid("An append needs a Content-Type.")
	}
	if p := checkContentType(given); p != nil {
		return nil, p
	}
	if mediaType(given) != mediaType(s.Settings.ContentType) {
		return nil, &Problem{Type: ProblemContentType, Status: http.StatusConflict,
			Detail: "The Content-Type is not the stream's, which is " + s.Settings.ContentType + "."}
	}
	messages, p := split(body, s.Settings.encoding(), h.limits.Messages)
	if p == nil && len(messages) == 0 {
		return nil, invalid("An append of an empty array has no effect and is refused.")
	}
	return messages, p
}

// parseProducer reads the three producer headers, which are given together or not at all.
func (h *Handler) parseProducer(header http.Header) (*engine.Producer, *Problem) {
	id, hasID, p := single(header, headerProducerID)
	if p != nil {
		return nil, p
	}
	epoch, hasEpoch, p := single(header, headerProducerEpoch)
	if p != nil {
		return nil, p
	}
	seq, hasSeq, p := single(header, headerProducerSeq)
	if p != nil {
		return nil, p
	}
	switch {
	case !hasID && !hasEpoch && !hasSeq:
		return nil, nil
	case !hasID || !hasEpoch || !hasSeq:
		return nil, invalid("Producer-Id, Producer-Epoch and Producer-Seq are given together or not at all.")
	case id == "":
		return nil, invalid("Producer-Id is empty.")
	case len(id) > h.limits.TokenBytes:
		return nil, h.tokenTooLong(headerProducerID)
	}
	producer := &engine.Producer{ID: id}
	if producer.Epoch, p = producerNumber(headerProducerEpoch, epoch); p != nil {
		return nil, p
	}
	if producer.Seq, p = producerNumber(headerProducerSeq, seq); p != nil {
		return nil, p
	}
	return producer, nil
}

func producerNumber(name, value string) (int64, *Problem) {
	n, ok := parseDecimal(value)
	if !ok || n > maxProducerNumber {
		return 0, invalid("%s is not a plain decimal number from 0 to 2^53-1.", name)
	}
	return n, nil
}

func (h *Handler) tokenTooLong(name string) *Problem {
	return beyondLimit(http.StatusBadRequest, "%s is longer than the limit of %d bytes.", name, h.limits.TokenBytes)
}

// closesStream tells whether the request closes the stream. Any value but true means that it does not (protocol: the
// header is present and true, or has no effect).
func closesStream(header http.Header) bool {
	return strings.EqualFold(header.Get(headerStreamClosed), "true")
}

// writeAppended answers an append that is durable: 200 for new data of a producer, else 204.
func writeAppended(w http.ResponseWriter, a engine.Append, done engine.Appended) {
	header := w.Header()
	header.Set("Cache-Control", cacheNever)
	header.Set(headerNextOffset, FormatOffset(done.Next))
	if done.StreamClosed {
		header.Set(headerStreamClosed, "true")
	}
	status := http.StatusNoContent
	if a.Producer != nil {
		header.Set(headerProducerEpoch, strconv.FormatInt(a.Producer.Epoch, 10))
		header.Set(headerProducerSeq, strconv.FormatInt(done.LastSeq, 10))
		if !done.Duplicate && len(a.Messages) > 0 {
			status = http.StatusOK
			header.Set("Content-Length", "0")
		}
	}
	w.WriteHeader(status)
}
