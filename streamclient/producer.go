package streamclient

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
)

// ProducerOptions are what a Producer is made of.
type ProducerOptions struct {
	// ID names the producer among those of its stream. It must be unique among producers that run at the same time.
	ID string
	// Epoch is above that of every earlier run under the same ID; the first is 0.
	Epoch int64
	// ContentType is the stream's. Of application/json, each message is one JSON value.
	ContentType string
	// BatchBytes bounds the messages that go out together. 0: 1 MiB. A larger message goes alone.
	BatchBytes int
	// Waiting bounds the bytes of messages that wait to be sent; Send blocks beyond it. 0: 16 MiB.
	Waiting int
}

const (
	defaultBatchBytes = 1 << 20
	defaultWaiting    = 16 << 20
)

// ErrProducerEnded tells that a producer sends nothing any more, since a message before this one could not be stored or
// its outcome is not known. What follows in the chain of errors is why.
var ErrProducerEnded = errors.New("producer has ended")

// Producer appends messages to a stream exactly once and in order, whatever fails in between. Messages that are sent
// while one batch is under way go out together with the next, so many goroutines that send make few requests.
type Producer struct {
	stream  *Stream
	options ProducerOptions
	ctx     context.Context
	end     context.CancelFunc
	header  http.Header

	mu      sync.Mutex
	seq     int64
	waiting []*message
	bytes   int
	// room is closed, and made anew, when messages leave waiting.
	room chan struct{}
	// sending tells that a goroutine works on waiting.
	sending bool
	// failure is why the producer takes no message any more; nil while it does.
	failure error
	idle    sync.WaitGroup
}

// message is one that waits, and then its outcome.
type message struct {
	content []byte
	next    Offset
	err     error
	settled chan struct{}
}

// Producer returns a producer for the stream. It starts at sequence 0 of its epoch.
func (s *Stream) Producer(options ProducerOptions) *Producer {
	if options.BatchBytes == 0 {
		options.BatchBytes = defaultBatchBytes
	}
	if options.Waiting == 0 {
		options.Waiting = defaultWaiting
	}
	p := &Producer{stream: s, options: options, room: make(chan struct{}), header: http.Header{}}
	p.header.Set(headerContentType, options.ContentType)
	p.header.Set("Producer-Id", options.ID)
	p.header.Set("Producer-Epoch", strconv.FormatInt(options.Epoch, 10))
	p.ctx, p.end = context.WithCancel(context.Background())
	return p
}

// Send appends one message and waits until it is stored; it returns the end of the stream behind the batch that it went
// with. Messages of one goroutine are stored in the order of its calls. Where ctx ends first, the message may still be
// stored, and the order is kept.
func (p *Producer) Send(ctx context.Context, content []byte) (Offset, error) {
	m, err := p.enqueue(ctx, content)
	if err != nil {
		return "", err
	}
	select {
	case <-m.settled:
		return m.next, m.err
	case <-ctx.Done():
		return "", fmt.Errorf("waiting for a message to be stored: %w: %w", ErrOutcomeUnknown, ctx.Err())
	}
}

// Close waits until everything that waits is stored, and ends the producer. Where ctx ends first, it gives up on the
// rest.
func (p *Producer) Close(ctx context.Context) error {
	p.mu.Lock()
	failure := p.failure
	if failure == nil {
		p.failure = fmt.Errorf("%w: it was closed", ErrProducerEnded)
	}
	p.mu.Unlock()
	done := make(chan struct{})
	go func() {
		p.idle.Wait()
		close(done)
	}()
	var err error
	select {
	case <-done:
	case <-ctx.Done():
		err = fmt.Errorf("waiting for messages to be stored: %w", ctx.Err())
	}
	p.end()
	<-done
	return errors.Join(failure, err)
}

// enqueue adds a message behind those that wait, and waits for room to do so.
func (p *Producer) enqueue(ctx context.Context, content []byte) (*message, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if p.failure != nil {
			return nil, p.failure
		}
		if p.bytes == 0 || p.bytes+len(content) <= p.options.Waiting {
			break
		}
		room := p.room
		p.mu.Unlock()
		select {
		case <-room:
			p.mu.Lock()
		case <-ctx.Done():
			p.mu.Lock()
			return nil, fmt.Errorf("waiting for room to send a message: %w", ctx.Err())
		}
	}
	m := &message{content: bytes.Clone(content), settled: make(chan struct{})}
	p.waiting = append(p.waiting, m)
	p.bytes += len(content)
	if !p.sending {
		p.sending = true
		p.idle.Add(1)
		go p.run()
	}
	return m, nil
}

// run sends batch after batch until none waits.
func (p *Producer) run() {
	defer p.idle.Done()
	for {
		batch, seq := p.take()
		if batch == nil {
			return
		}
		next, err := p.deliver(batch, seq)
		if err != nil {
			p.fail(batch, err)
			return
		}
		for _, m := range batch {
			m.next = next
			close(m.settled)
		}
	}
}

// take removes the next batch from those that wait; nil where none does.
func (p *Producer) take() (batch []*message, seq int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	size := 0
	for len(batch) < len(p.waiting) {
		m := p.waiting[len(batch)]
		if len(batch) > 0 && size+len(m.content) > p.options.BatchBytes {
			break
		}
		size += len(m.content)
		batch = p.waiting[:len(batch)+1]
	}
	if len(batch) == 0 {
		p.waiting, p.sending = nil, false
		return nil, 0
	}
	p.waiting = p.waiting[len(batch):]
	p.bytes -= size
	close(p.room)
	p.room = make(chan struct{})
	seq = p.seq
	p.seq++
	return batch, seq
}

// deliver sends one batch, the same bytes under the same sequence, until it is stored.
func (p *Producer) deliver(batch []*message, seq int64) (Offset, error) {
	h := p.header.Clone()
	h.Set("Producer-Seq", strconv.FormatInt(seq, 10))
	a, err := p.stream.client.do(p.ctx, request{
		method: http.MethodPost, url: p.stream.url, header: h, body: p.join(batch), safety: repeatable,
	})
	if err != nil {
		return "", err
	}
	return Offset(a.header.Get(headerNextOffset)), nil
}

// join makes the body of a batch: an array of the messages of a JSON stream, else one behind the other.
func (p *Producer) join(batch []*message) []byte {
	contents := make([][]byte, len(batch))
	for i, m := range batch {
		contents[i] = m.content
	}
	if !isJSON(p.options.ContentType) {
		return bytes.Join(contents, nil)
	}
	body := append([]byte{'['}, bytes.Join(contents, []byte{','})...)
	return append(body, ']')
}

// fail ends the producer: behind a batch that may be missing nothing can be stored in order.
func (p *Producer) fail(batch []*message, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure = fmt.Errorf("%w: %w", ErrProducerEnded, err)
	for _, m := range batch {
		m.err = fmt.Errorf("storing a message: %w", err)
		close(m.settled)
	}
	for _, m := range p.waiting {
		m.err = p.failure
		close(m.settled)
	}
	p.waiting, p.bytes, p.sending = nil, 0, false
	close(p.room)
	p.room = make(chan struct{})
}
