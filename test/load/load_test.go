package load

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// brokenness is what a faultyServer does wrong with one append.
type brokenness int

const (
	nothingBroken brokenness = iota
	loses                    // acknowledges and does not store
	duplicates               // stores twice
	refuses                  // answers 503 and does not store
	forgets                  // answers 503 although it stored
)

// faultyServer is a stream in memory that does one thing wrong, with the tenth append of the plain appender.
type faultyServer struct {
	broken brokenness

	mu      sync.Mutex
	records []json.RawMessage
	appends int
	grown   chan struct{}
}

func (s *faultyServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost:
		s.append(w, r)
	default:
		s.read(w, r)
	}
}

func (s *faultyServer) append(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fault := nothingBroken
	if r.Header.Get("Producer-Id") == "" {
		s.appends++
		if s.appends == 10 {
			fault = s.broken
		}
	}
	if fault != loses && fault != refuses {
		s.records = append(s.records, body)
	}
	if fault == duplicates {
		s.records = append(s.records, body)
	}
	close(s.grown)
	s.grown = make(chan struct{})
	if fault == refuses || fault == forgets {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *faultyServer) read(w http.ResponseWriter, r *http.Request) {
	offset, err := strconv.Atoi(r.URL.Query().Get("offset"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	offset = max(offset, 0)
	s.mu.Lock()
	defer s.mu.Unlock()
	for r.URL.Query().Get("live") != "" && offset == len(s.records) && r.Context().Err() == nil {
		grown := s.grown
		s.mu.Unlock()
		select {
		case <-grown:
		case <-r.Context().Done():
		}
		s.mu.Lock()
	}
	end := min(offset+7, len(s.records)) // pages, so that reading back takes several
	w.Header().Set(headerNextOffset, strconv.Itoa(end))
	w.Header().Set(headerUpToDate, strconv.FormatBool(end == len(s.records)))
	if err := json.NewEncoder(w).Encode(s.records[offset:end]); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func TestRunFindsWhatIsBroken(t *testing.T) {
	tests := map[string]struct {
		broken brokenness
		want   Tally
	}{
		"nothing":                  {broken: nothingBroken},
		"a record is lost":         {broken: loses, want: Tally{Lost: 1}},
		"a record is stored twice": {broken: duplicates, want: Tally{Duplicated: 1}},
		"a request is refused":     {broken: refuses, want: Tally{Failed: 1}},
		"a request fails although it was carried out": {broken: forgets, want: Tally{Failed: 1}},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			server := httptest.NewServer(&faultyServer{broken: test.broken, grown: make(chan struct{})})
			defer server.Close()
			run := Start(t.Context(), Options{URL: server.URL, Producers: 1, Appenders: 1, Readers: 2, RecordBytes: 200})
			awaitAcknowledged(t, run, 100)
			got, err := run.Stop(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(run.Faults()) != got.Failed {
				t.Errorf("%d faults are told, %d counted", len(run.Faults()), got.Failed)
			}
			if got.Clean() != (test.want == Tally{}) {
				t.Errorf("clean is %v of %+v", got.Clean(), got)
			}
			if got.Appended < 100 || got.Read < 2*100 {
				t.Errorf("%d appended and %d read, want at least 100 and twice as many", got.Appended, got.Read)
			}
			got.Appended, got.Read = 0, 0
			if difference := cmp.Diff(test.want, got); difference != "" {
				t.Errorf("tallies differ (-want +got):\n%s", difference)
			}
		})
	}
}

// awaitAcknowledged waits until both writers together have that many appends acknowledged, and each of them a share.
func awaitAcknowledged(t *testing.T, run *Run, want int) {
	t.Helper()
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(30 * time.Second)
	for {
		enough := run.Acknowledged() >= want
		for _, writer := range run.writers {
			enough = enough && writer.acknowledgedCount() > 20
		}
		if enough {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("only %d appends were acknowledged: %v", run.Acknowledged(), run.Faults())
		case <-ticker.C:
		}
	}
}

func TestRecordsAreAboutAsLargeAsAsked(t *testing.T) {
	for _, size := range []int{0, 100, 1000} {
		encoded, err := record{Writer: "appender-0", Number: 12345}.encode(size)
		if err != nil {
			t.Fatal(err)
		}
		if size > 0 && (len(encoded) < size-10 || len(encoded) > size+10) {
			t.Errorf("a record of %d bytes has %d: %s", size, len(encoded), encoded)
		}
		decoded, err := decodeRecords(fmt.Appendf(nil, "[%s]", encoded))
		if err != nil {
			t.Fatal(err)
		}
		if len(decoded) != 1 || decoded[0].identity() != (identity{"appender-0", 12345}) {
			t.Errorf("%s is decoded as %+v", encoded, decoded)
		}
	}
}
