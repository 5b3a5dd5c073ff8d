package durablestreams

import (
	"net/http"
	"testing"
)

// exchange is one request of a story, and what it must be answered with.
type exchange struct {
	method, query string // POST where empty
	header        http.Header
	body          string
	wantStatus    int
	wantProblem   ProblemType
	wantHeader    map[string]string
}

// tell serves the requests of a story one after the other.
func tell(t *testing.T, h *Handler, s Stream, story []exchange) {
	t.Helper()
	for i, x := range story {
		if x.method == "" {
			x.method = http.MethodPost
		}
		w := serve(t, h, s, request(t, x.method, x.query, x.header, x.body))
		if w.Code != x.wantStatus || problemOf(t, w) != x.wantProblem {
			t.Errorf("request %d: got %d %s, want %d %q", i+1, w.Code, w.Body, x.wantStatus, x.wantProblem)
		}
		checkHeader(t, w.Header(), x.wantHeader)
	}
}

var (
	asText      = header("Content-Type", textType)
	asJSON      = header("Content-Type", jsonType)
	closing     = header(headerStreamClosed, "true")
	closingText = header(headerStreamClosed, "true", "Content-Type", textType)
)

// by makes the headers of a text append of a producer.
func by(id, epoch, seq string, more ...string) http.Header {
	return producer(id, epoch, seq, append([]string{"Content-Type", textType}, more...)...)
}

func TestAppend(t *testing.T) {
	five, ten := FormatOffset(5), FormatOffset(10)
	for name, tc := range map[string]struct {
		settings    Settings
		story       []exchange
		wantContent string
	}{
		"a text grows by each body": {settings: text, story: []exchange{
			{header: asText, body: "first", wantStatus: 204, wantHeader: map[string]string{headerNextOffset: five, headerStreamClosed: ""}},
			{header: header("Content-Type", "TEXT/Plain; charset=utf-8"), body: "again", wantStatus: 204, wantHeader: map[string]string{headerNextOffset: ten}},
		}, wantContent: "firstagain"},
		"a JSON batch is flattened, its bytes are kept": {settings: jsons, story: []exchange{
			{header: asJSON, body: "[ {\"a\": 1.0}, [2] ]", wantStatus: 204},
			{header: asJSON, body: " null\n", wantStatus: 204},
		}, wantContent: `[{"a": 1.0},[2],null]`},
		"what has no effect is refused": {settings: jsons, story: []exchange{
			{header: asJSON, body: "[]", wantStatus: 400, wantProblem: ProblemInvalidRequest},
			{header: asJSON, body: "{", wantStatus: 400, wantProblem: ProblemInvalidRequest},
			{header: asJSON, wantStatus: 400, wantProblem: ProblemInvalidRequest},
			{header: header(headerStreamClosed, "false", "Content-Type", jsonType), wantStatus: 400, wantProblem: ProblemInvalidRequest},
			{body: "1", wantStatus: 400, wantProblem: ProblemInvalidRequest},
			{header: header("Content-Type", "json"), body: "1", wantStatus: 400, wantProblem: ProblemInvalidRequest},
			{header: asText, body: "1", wantStatus: 409, wantProblem: ProblemContentType},
			{header: header("Content-Type", jsonType, headerProducerID, "p"), body: "1", wantStatus: 400, wantProblem: ProblemInvalidRequest},
			{header: producer("", "0", "0", "Content-Type", jsonType), body: "1", wantStatus: 400, wantProblem: ProblemInvalidRequest},
			{header: header("Content-Type", jsonType, headerStreamClosed, "true"), body: "[]", wantStatus: 400, wantProblem: ProblemInvalidRequest},
		}, wantContent: "[]"},
		"a producer is told what is accepted": {settings: text, story: []exchange{
			{header: by("p", "3", "0"), body: "a", wantStatus: 200, wantHeader: map[string]string{headerProducerEpoch: "3", headerProducerSeq: "0", headerNextOffset: FormatOffset(1)}},
			{header: by("p", "3", "1"), body: "b", wantStatus: 200, wantHeader: map[string]string{headerProducerSeq: "1"}},
			{header: by("p", "3", "0"), body: "other", wantStatus: 204, wantHeader: map[string]string{headerProducerEpoch: "3", headerProducerSeq: "1", headerNextOffset: FormatOffset(2)}},
			{header: by("p", "3", "3"), body: "x", wantStatus: 409, wantProblem: ProblemProducerGap, wantHeader: map[string]string{headerProducerExpected: "2", headerProducerReceived: "3"}},
			{header: by("p", "2", "2"), body: "x", wantStatus: 403, wantProblem: ProblemProducerStale, wantHeader: map[string]string{headerProducerEpoch: "3"}},
			{header: by("p", "4", "1"), body: "x", wantStatus: 400, wantProblem: ProblemProducerStart},
			{header: by("new", "0", "1"), body: "x", wantStatus: 409, wantProblem: ProblemProducerGap, wantHeader: map[string]string{headerProducerExpected: "0"}},
			{header: by("p", "4", "0"), body: "c", wantStatus: 200, wantHeader: map[string]string{headerProducerEpoch: "4", headerProducerSeq: "0"}},
		}, wantContent: "abc"},
		"a sequence rises, and a producer's repetition comes before it": {settings: text, story: []exchange{
			{header: by("p", "0", "0", headerSeq, "b"), body: "1", wantStatus: 200},
			{header: by("p", "0", "0", headerSeq, "b"), body: "1", wantStatus: 204},
			{header: by("p", "0", "1", headerSeq, "b"), body: "2", wantStatus: 409, wantProblem: ProblemSeqNotRising},
			{header: header("Content-Type", textType, headerSeq, "B"), body: "2", wantStatus: 409, wantProblem: ProblemSeqNotRising},
			{header: by("p", "0", "1", headerSeq, "b0"), body: "2", wantStatus: 200},
		}, wantContent: "12"},
		"a closed stream refuses before anything else is looked at": {settings: text, story: []exchange{
			{header: closingText, body: "first", wantStatus: 204, wantHeader: map[string]string{headerStreamClosed: "true", headerNextOffset: five}},
			{header: asText, body: "x", wantStatus: 409, wantProblem: ProblemStreamClosed, wantHeader: map[string]string{headerStreamClosed: "true", headerNextOffset: five}},
			{header: asJSON, body: "{", wantStatus: 409, wantProblem: ProblemStreamClosed},
			{body: "no content type", wantStatus: 409, wantProblem: ProblemStreamClosed},
			{header: closingText, body: "x", wantStatus: 409, wantProblem: ProblemStreamClosed},
			{header: by("p", "0", "0"), body: "x", wantStatus: 409, wantProblem: ProblemStreamClosed},
			{header: by("p", "0", "0", headerStreamClosed, "true"), wantStatus: 409, wantProblem: ProblemStreamClosed},
		}, wantContent: "first"},
		"closing is idempotent, and needs no content type": {settings: jsons, story: []exchange{
			{header: closing, wantStatus: 204, wantHeader: map[string]string{headerStreamClosed: "true", headerNextOffset: FormatOffset(0)}},
			{header: header(headerStreamClosed, "TRUE", "Content-Type", textType), wantStatus: 204, wantHeader: map[string]string{headerStreamClosed: "true"}},
		}, wantContent: "[]"},
		"a producer's close is repeated by nobody else": {settings: text, story: []exchange{
			{header: by("p", "1", "0", headerStreamClosed, "true"), body: "end", wantStatus: 200, wantHeader: map[string]string{headerStreamClosed: "true", headerProducerEpoch: "1", headerProducerSeq: "0"}},
			{header: by("p", "1", "0", headerStreamClosed, "true"), body: "other", wantStatus: 204, wantHeader: map[string]string{headerStreamClosed: "true", headerProducerSeq: "0"}},
			{header: producer("p", "1", "0", headerStreamClosed, "true", "Content-Type", jsonType), body: "{", wantStatus: 204},
			{header: by("q", "1", "0", headerStreamClosed, "true"), body: "end", wantStatus: 409, wantProblem: ProblemStreamClosed},
			{header: by("p", "1", "1", headerStreamClosed, "true"), body: "end", wantStatus: 409, wantProblem: ProblemStreamClosed},
			{header: by("p", "2", "0", headerStreamClosed, "true"), body: "end", wantStatus: 409, wantProblem: ProblemStreamClosed},
		}, wantContent: "end"},
		"a producer's bare close is an append of its own": {settings: text, story: []exchange{
			{header: by("p", "0", "0"), body: "a", wantStatus: 200},
			{header: producer("p", "0", "2", headerStreamClosed, "true"), wantStatus: 409, wantProblem: ProblemProducerGap},
			{header: producer("p", "0", "1", headerStreamClosed, "true"), wantStatus: 204, wantHeader: map[string]string{headerProducerSeq: "1", headerStreamClosed: "true"}},
			{header: producer("p", "0", "1", headerStreamClosed, "true"), wantStatus: 204, wantHeader: map[string]string{headerProducerSeq: "1"}},
		}, wantContent: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			s := createStream(t, tc.settings)
			tell(t, newHandler(t), s, tc.story)
			if got := content(t, s); got != tc.wantContent {
				t.Errorf("the stream holds %q, want %q", got, tc.wantContent)
			}
		})
	}
}

func TestStreamThatIsNotCreated(t *testing.T) {
	tell(t, newHandler(t), openStream(t, text), []exchange{
		{header: asText, body: "x", wantStatus: 404, wantProblem: ProblemStreamNotFound},
		{header: header("Content-Type", "malformed"), body: "x", wantStatus: 404, wantProblem: ProblemStreamNotFound},
		{header: closing, wantStatus: 404, wantProblem: ProblemStreamNotFound},
		{method: http.MethodGet, wantStatus: 404, wantProblem: ProblemStreamNotFound},
		{method: http.MethodGet, query: "?offset=now&live=sse", wantStatus: 404, wantProblem: ProblemStreamNotFound},
		{method: http.MethodGet, query: "?offset=now&live=long-poll", wantStatus: 404, wantProblem: ProblemStreamNotFound},
		{method: http.MethodHead, wantStatus: 404, wantProblem: ProblemStreamNotFound},
		{method: http.MethodDelete, wantStatus: 405, wantProblem: ProblemMethod, wantHeader: map[string]string{"Allow": allowedMethods}},
		{method: "TRACE", wantStatus: 405, wantProblem: ProblemMethod},
		{method: http.MethodOptions, wantStatus: 204},
	})
}
