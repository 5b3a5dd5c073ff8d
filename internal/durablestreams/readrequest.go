package durablestreams

import (
	"net/http"
	"net/url"

	"github.com/streamshift/streamshift/internal/engine"
)

// readMode is how a read is answered.
type readMode int

const (
	// catchUp answers what there is, at once.
	catchUp readMode = iota
	// longPoll waits for data where there is none.
	longPoll
	// eventStream sends data as it comes, as server-sent events.
	eventStream
)

// readStart is where a read begins.
type readStart int

const (
	// startOldest is the first position that is retained: offset -1, or none.
	startOldest readStart = iota
	// startTail is the tail as it is when the request arrives: offset now.
	startTail
	// startOffset is a position that the stream handed out.
	startOffset
)

// readRequest is a GET that is well-formed.
type readRequest struct {
	mode   readMode
	start  readStart
	offset engine.Offset // of startOffset
	cursor string        // as the client echoed it; "" for none
}

// from returns the position that the read begins at.
func (q readRequest) from(info engine.Info) engine.Offset {
	switch q.start {
	case startOldest:
		return info.Start
	case startTail:
		return info.Tail
	case startOffset:
		return q.offset
	}
	return info.Start
}

// parseRead reads the query of a GET. Parameters that the protocol does not know are ignored.
func parseRead(r *http.Request) (readRequest, *Problem) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return readRequest{}, invalid("The query is not well-formed.")
	}
	for _, name := range []string{"offset", "live", "cursor"} {
		if len(query[name]) > 1 {
			return readRequest{}, invalid("The parameter %s is given more than once.", name)
		}
	}
	q := readRequest{cursor: query.Get("cursor")}
	if query.Has("live") {
		switch query.Get("live") {
		case "long-poll":
			q.mode = longPoll
		case "sse":
			q.mode = eventStream
		default:
			return readRequest{}, invalid("The parameter live is neither long-poll nor sse.")
		}
	}
	if !query.Has("offset") {
		if q.mode != catchUp {
			return readRequest{}, invalid("A live read needs the parameter offset.")
		}
		return q, nil
	}
	p := q.parseStart(query.Get("offset"))
	return q, p
}

func (q *readRequest) parseStart(token string) *Problem {
	switch token {
	case "-1":
		q.start = startOldest
	case "now":
		q.start = startTail
	default:
		offset, ok := ParseOffset(token)
		if !ok {
			return invalid("The offset is not one that a stream hands out.")
		}
		q.start, q.offset = startOffset, offset
	}
	return nil
}
