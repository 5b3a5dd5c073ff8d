package history

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a recording.
type Options struct {
	// URL of the stream, which exists and has the content type application/octet-stream.
	URL string
	// Producers repeat an append with their identity until it is acknowledged; Appenders send each record once. Followers
	// read along by long-poll; Samplers read pages from anywhere.
	Producers, Appenders, Followers, Samplers int
	// Pause is how long a writer rests between two records.
	Pause time.Duration
}

const (
	// retryPause is how long a client rests after a failed request.
	retryPause = 50 * time.Millisecond
	// samplePause is how long a sampler rests between two reads.
	samplePause = 100 * time.Millisecond
	// requestTimeout is longer than any server may keep a request.
	requestTimeout = 40 * time.Second
	// answerLimit bounds what is read of an answer, in bytes.
	answerLimit = 64 << 20
)

// Recording is clients at work.
type Recording struct {
	options Options
	client  *http.Client
	began   time.Time

	acknowledged atomic.Int64
	stop         chan struct{} // closed when the writers shall end
	writers      sync.WaitGroup
	readers      sync.WaitGroup
	endReaders   context.CancelFunc

	mu      sync.Mutex
	history History
}

// Start starts the clients. They work until Stop, or until the context ends.
func Start(ctx context.Context, options Options) *Recording {
	transport := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is documented
	transport.MaxIdleConnsPerHost = options.Producers + options.Appenders + options.Followers + options.Samplers
	transport.Proxy = nil
	r := &Recording{
		options: options, client: &http.Client{Transport: transport, Timeout: requestTimeout}, began: time.Now(), stop: make(chan struct{}),
	}
	for i := range options.Producers {
		r.writers.Go(func() { r.write(ctx, fmt.Sprintf("p%02d", i), producer) })
	}
	for i := range options.Appenders {
		r.writers.Go(func() { r.write(ctx, fmt.Sprintf("a%02d", i), appender) })
	}
	reading, end := context.WithCancel(ctx)
	r.endReaders = end
	for i := range options.Followers {
		r.readers.Go(func() { r.follow(reading, fmt.Sprintf("f%02d", i)) })
	}
	for i := range options.Samplers {
		r.readers.Go(func() { r.sample(reading, fmt.Sprintf("s%02d", i)) })
	}
	return r
}

// Acknowledged is how many appends have been acknowledged so far.
func (r *Recording) Acknowledged() int { return int(r.acknowledged.Load()) }

// Stop ends the writers, each after the answer to its last record, then the readers, and returns what they did and saw,
// with what the stream holds.
func (r *Recording) Stop(ctx context.Context) (History, []Record, error) {
	close(r.stop)
	r.writers.Wait()
	stored, err := r.readBack(ctx)
	r.endReaders()
	r.readers.Wait()
	r.client.CloseIdleConnections()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.history, stored, err
}

func (r *Recording) since() time.Duration { return time.Since(r.began) }

func (r *Recording) note(change func(*History)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.history)
}

// rest waits, and returns false when the client shall end.
func (r *Recording) rest(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-r.stop:
		return false
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
