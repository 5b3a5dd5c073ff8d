package durablestreams

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

func TestCreate(t *testing.T) {
	const put = http.MethodPut
	for name, tc := range map[string]struct {
		settings    Settings // of the object that was made
		story       []exchange
		wantContent string
	}{
		"the first PUT creates, later ones find": {settings: text, story: []exchange{
			{method: put, header: asText, body: "start", wantStatus: 201, wantHeader: map[string]string{
				"Location": "http://example.com/v1/stream/a", "Content-Type": textType, headerNextOffset: FormatOffset(5), headerStreamClosed: "",
			}},
			{method: put, header: header("Content-Type", "TEXT/plain"), body: "other", wantStatus: 200, wantHeader: map[string]string{
				"Location": "", "Content-Type": textType, headerNextOffset: FormatOffset(5),
			}},
			{method: put, header: asJSON, wantStatus: 409, wantProblem: ProblemConfigurationMismatch},
			{method: put, header: header("Content-Type", textType, headerTTL, "5"), wantStatus: 409, wantProblem: ProblemConfigurationMismatch},
			{method: put, header: closingText, wantStatus: 409, wantProblem: ProblemConfigurationMismatch},
		}, wantContent: "start"},
		"a JSON batch is the first content": {settings: jsons, story: []exchange{
			{method: put, header: asJSON, body: `[1, {"a":2}]`, wantStatus: 201},
		}, wantContent: `[1,{"a":2}]`},
		"an empty array is no content": {settings: jsons, story: []exchange{
			{method: put, header: asJSON, body: ` [ ] `, wantStatus: 201, wantHeader: map[string]string{headerNextOffset: FormatOffset(0)}},
		}, wantContent: `[]`},
		"created closed, with content": {settings: text, story: []exchange{
			{method: put, header: closingText, body: "all", wantStatus: 201, wantHeader: map[string]string{headerStreamClosed: "true", headerNextOffset: FormatOffset(3)}},
			{method: put, header: closingText, wantStatus: 200, wantHeader: map[string]string{headerStreamClosed: "true"}},
			{method: put, header: asText, wantStatus: 409, wantProblem: ProblemConfigurationMismatch, wantHeader: map[string]string{headerStreamClosed: "true"}},
			{header: asText, body: "x", wantStatus: 409, wantProblem: ProblemStreamClosed},
		}, wantContent: "all"},
		"what is malformed creates nothing": {settings: jsons, story: []exchange{
			{method: put, header: asJSON, body: "{", wantStatus: 400, wantProblem: ProblemInvalidRequest},
			{method: put, header: header("Content-Type", jsonType, headerTTL, "+1"), wantStatus: 400, wantProblem: ProblemInvalidRequest},
			{method: put, header: header("Content-Type", jsonType, headerForkedFrom, "/v1/stream/b"), wantStatus: 501, wantProblem: ProblemForks},
			{method: put, header: header("Content-Type", jsonType, headerForkOffset, "-1"), wantStatus: 501, wantProblem: ProblemForks},
			{method: http.MethodHead, wantStatus: 404, wantProblem: ProblemStreamNotFound},
			{method: put, header: asJSON, wantStatus: 201},
		}, wantContent: "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStream(t, tc.settings)
			tell(t, newHandler(t), s, tc.story)
			if got := content(t, s); got != tc.wantContent {
				t.Errorf("the stream holds %q, want %q", got, tc.wantContent)
			}
		})
	}
}

// Of many PUTs at once one creates, and its content is the stream's.
func TestConcurrentCreates(t *testing.T) {
	h, s := newHandler(t), openStream(t, text)
	bodies := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	answers := make([]*httptest.ResponseRecorder, len(bodies))
	var all sync.WaitGroup
	for i, body := range bodies {
		all.Go(func() { answers[i] = serve(t, h, s, request(t, http.MethodPut, "", asText, body)) })
	}
	all.Wait()
	created := ""
	for i, w := range answers {
		switch w.Code {
		case http.StatusCreated:
			created += bodies[i]
		case http.StatusOK:
		default:
			t.Errorf("body %s: got %d %s", bodies[i], w.Code, w.Body)
		}
	}
	if got := content(t, s); len(created) != 1 || got != created {
		t.Errorf("created with %q, the stream holds %q", created, got)
	}
}

func TestLocation(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*http.Request)
		want   string
	}{
		"plain":                         {change: func(*http.Request) {}, want: "http://example.com/v1/stream/a"},
		"over TLS":                      {change: func(r *http.Request) { r.TLS = &tls.ConnectionState{} }, want: "https://example.com/v1/stream/a"},
		"behind a proxy that ends TLS":  {change: func(r *http.Request) { r.Header.Set("X-Forwarded-Proto", "https") }, want: "https://example.com/v1/stream/a"},
		"with a name that needs escape": {change: func(r *http.Request) { r.URL.Path, r.URL.RawPath = "/v1/stream/a/b c", "/v1/stream/a%2Fb%20c" }, want: "http://example.com/v1/stream/a%2Fb%20c"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, http.MethodPut, "?ignored", nil, "")
			tc.change(r)
			if got := location(r); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
