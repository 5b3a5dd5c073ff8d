package load

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	contentType = "application/json"
	// requestTimeout bounds one request; above the gateway's park time and the longest long-poll.
	requestTimeout = 40 * time.Second
	// drainTimeout bounds how long the readers along may take to reach the end once the writers have stopped.
	drainTimeout = 60 * time.Second
	// maxFaults bounds how many failed requests are kept with their text; all are counted.
	maxFaults = 20
)

// Options of a run of load.
type Options struct {
	// URL of the stream, which must hold JSON and must be empty.
	URL string
	// Producers append with producer identity, one record at a time, and repeat one that failed.
	Producers int
	// Appenders append plainly, one record at a time, and never repeat.
	Appenders int
	// Readers read along by long-poll from the beginning.
	Readers int
	// Pause is how long a writer rests between an answer and its next append; 0 for not at all.
	Pause time.Duration
	// RecordBytes is about the size of a record; the smallest possible where 0.
	RecordBytes int
	// Client sends the requests; one of its own, which keeps its connections, where nil.
	Client *http.Client
}

// Run is load that is going on. Its methods may be called from several goroutines.
type Run struct {
	options Options
	client  *http.Client
	writers []*writer
	readers []*reader
	faults  faults

	stopWriting chan struct{}
	stopReading context.CancelFunc
	writing     sync.WaitGroup
	reading     sync.WaitGroup
}

// Start begins to append and to read along, until Stop or the end of the context.
func Start(ctx context.Context, options Options) *Run {
	r := &Run{options: options, client: options.Client, stopWriting: make(chan struct{})}
	if r.client == nil {
		r.client = newClient(options.Producers + options.Appenders + options.Readers)
	}
	ctx, r.stopReading = context.WithCancel(ctx)
	for i := range options.Producers {
		r.writers = append(r.writers, &writer{run: r, name: fmt.Sprintf("producer-%d", i), kind: idempotentProducer})
	}
	for i := range options.Appenders {
		r.writers = append(r.writers, &writer{run: r, name: fmt.Sprintf("appender-%d", i), kind: plainAppender})
	}
	for i := range options.Readers {
		r.readers = append(r.readers, newReader(r, fmt.Sprintf("reader-%d", i)))
	}
	for _, writer := range r.writers {
		r.writing.Go(func() { writer.write(ctx) })
	}
	for _, reader := range r.readers {
		r.reading.Go(func() { reader.follow(ctx) })
	}
	return r
}

// newClient keeps a connection for each of the writers and readers.
func newClient(connections int) *http.Client {
	return &http.Client{
		Timeout:   requestTimeout,
		Transport: &http.Transport{MaxIdleConns: connections, MaxIdleConnsPerHost: connections},
		// A stock client must not be sent elsewhere: an answer that does so counts as a failure.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Stop ends the writers, lets the readers reach the end, reads the whole stream back and judges. It may be called once.
func (r *Run) Stop(ctx context.Context) (Tally, error) {
	close(r.stopWriting)
	r.writing.Wait()
	defer r.reading.Wait()
	defer r.stopReading()

	stored, tail, err := r.readBack(ctx)
	if err != nil {
		return Tally{}, err
	}
	verdict := judge(r.attempts(), stored)
	for _, reader := range r.readers {
		seen, err := reader.readUntil(ctx, tail)
		if err != nil {
			return Tally{}, err
		}
		verdict.compareReader(stored, seen)
	}
	verdict.Failed = r.faults.count()
	return verdict, nil
}

// Acknowledged counts the appends that were answered with success so far.
func (r *Run) Acknowledged() int {
	count := 0
	for _, writer := range r.writers {
		count += writer.acknowledgedCount()
	}
	return count
}

// Faults returns the first failed requests, a sentence each.
func (r *Run) Faults() []string { return r.faults.texts() }

func (r *Run) attempts() []attempt {
	var all []attempt
	for _, writer := range r.writers {
		all = append(all, writer.attemptsSoFar()...)
	}
	return all
}

// faults counts failed requests and keeps the text of the first ones.
type faults struct {
	mu    sync.Mutex
	total int
	first []string
}

func (f *faults) add(who string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.total++
	if len(f.first) < maxFaults {
		f.first = append(f.first, fmt.Sprintf("%s %s: %v", time.Now().Format(time.TimeOnly+".000"), who, err))
	}
}

func (f *faults) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.total
}

func (f *faults) texts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.first...)
}
