package durablestreams

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestBodies(t *testing.T) {
	const perRequest, total = 20 << 10, 30 << 10
	cut := func(n int) io.Reader {
		return io.MultiReader(strings.NewReader(strings.Repeat("x", n)), iotest.ErrReader(io.ErrUnexpectedEOF))
	}
	tests := map[string]struct {
		body    io.Reader
		length  int64
		taken   int64
		want    int
		wantErr error
	}{
		"none":                                 {body: strings.NewReader(""), length: 0, want: 0},
		"a small one":                          {body: strings.NewReader("abc"), length: 3, want: 3},
		"a small one of unknown length":        {body: strings.NewReader("abc"), length: -1, want: 3},
		"an empty one of unknown length":       {body: strings.NewReader(""), length: -1, want: 0},
		"one at the limit":                     {body: strings.NewReader(strings.Repeat("x", perRequest)), length: perRequest, want: perRequest},
		"one at the limit, length unknown":     {body: strings.NewReader(strings.Repeat("x", perRequest)), length: -1, want: perRequest},
		"one beyond the limit":                 {body: strings.NewReader(strings.Repeat("x", perRequest+1)), length: perRequest + 1, wantErr: ErrBodyTooLarge},
		"one beyond the limit, length unknown": {body: strings.NewReader(strings.Repeat("x", perRequest+1)), length: -1, wantErr: ErrBodyTooLarge},
		"byte by byte":                         {body: iotest.OneByteReader(strings.NewReader(strings.Repeat("x", 100))), length: -1, want: 100},
		"one that was cut off":                 {body: cut(10), length: -1, wantErr: io.ErrUnexpectedEOF},
		"one that was cut off at the limit":    {body: cut(perRequest), length: -1, wantErr: io.ErrUnexpectedEOF},
		"the last room":                        {body: strings.NewReader(strings.Repeat("x", 1000)), length: 1000, taken: total - 1000, want: 1000},
		"one byte more than the room":          {body: strings.NewReader(strings.Repeat("x", 1000)), length: 1000, taken: total - 999, wantErr: ErrBodiesFull},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			bodies := NewBodies(perRequest, total, time.Minute, time.Now)
			if !bodies.Take(tt.taken) {
				t.Fatal("the room is too small for what is taken")
			}
			r := httptest.NewRequest(http.MethodPost, "/", tt.body)
			r.ContentLength = tt.length
			body, release, err := bodies.Read(httptest.NewRecorder(), r)
			if !errors.Is(err, tt.wantErr) {
				t.Fatalf("the error is %v, want %v", err, tt.wantErr)
			}
			if err == nil {
				if len(body) != tt.want {
					t.Errorf("read %d bytes, want %d", len(body), tt.want)
				}
				if got := bodies.Used() - tt.taken; got < int64(len(body)) {
					t.Errorf("%d bytes count, %d are held", got, len(body))
				}
				release()
				release()
			}
			if got := bodies.Used(); got != tt.taken {
				t.Errorf("afterwards %d bytes count, want %d", got, tt.taken)
			}
		})
	}
}
