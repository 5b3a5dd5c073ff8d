package streamclient

import (
	"context"
	"fmt"
)

// SendAll appends messages in this order and waits until all of them are stored; it returns the end of the stream behind the
// batch that the last one went with. They go out together, in as few requests as BatchBytes allows. An error says nothing of the
// first of them, which may be stored; none is without those before it.
func (p *Producer) SendAll(ctx context.Context, contents ...[]byte) (Offset, error) {
	var last *message
	for _, content := range contents {
		m, err := p.enqueue(ctx, content)
		if err != nil {
			return "", err
		}
		last = m
	}
	if last == nil {
		return "", nil
	}
	select {
	case <-last.settled:
		return last.next, last.err
	case <-ctx.Done():
		return "", fmt.Errorf("waiting for messages to be stored: %w: %w", ErrOutcomeUnknown, ctx.Err())
	}
}
