package engine

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Retention bounds what a stream keeps. What is outside either bound may be trimmed; the zero value keeps everything.
type Retention struct {
	// Age is for how long a record is kept at least; 0: without end.
	Age time.Duration
	// Bytes is how much payload is kept at least; nil: all of it.
	Bytes *int64
}

const (
	// retentionSamples bounds the tails that a session remembers with their times. Older ones are thinned out beyond it.
	retentionSamples = 128
	// retentionSlack is the part of Retention.Bytes by which a stream may be longer before it is trimmed, since each time is a
	// segment of its own.
	retentionSlack = 16
)

// retaining is what a session knows of the age of its records.
type retaining struct {
	// samples are tails with their times, of this session, both rising.
	samples []aged
	// anchor is the newest one that is known to be too old, as a multiple; first is where the stream ended before it.
	anchor SegmentNumber
	first  Offset
	// tooYoung is when the anchor after it was written, Unix milliseconds; 0 where that was not looked at.
	tooYoung int64
}

// aged says that everything before a position was written before a time, Unix milliseconds.
type aged struct {
	at   int64
	tail Offset
}

// Retain trims what is outside the bounds, at a border of messages. It is to be called again and again, by one caller at a time:
// how exactly the age is kept depends on how often. It asks the store for nothing while nothing has become too old or too much.
func (s *Session) Retain(ctx context.Context, r Retention) error {
	start, err := s.retentionStart(ctx, r)
	if err == nil && start > s.Info().Start {
		err = s.Trim(ctx, start)
	}
	if err != nil {
		return fmt.Errorf("keeping to the retention: %w", err)
	}
	return nil
}

func (s *Session) retentionStart(ctx context.Context, r Retention) (Offset, error) {
	info := s.Info()
	start := info.Start
	if r.Age > 0 {
		old, err := s.writtenBefore(ctx, s.cfg.Clock(), r.Age, info.Tail)
		if err != nil {
			return 0, err
		}
		start = max(start, old)
	}
	if r.Bytes == nil || int64(info.Tail-start) <= *r.Bytes+*r.Bytes/retentionSlack {
		return start, nil
	}
	border, err := s.borderBefore(ctx, info.Tail-Offset(*r.Bytes), info.Tail)
	return max(start, border), err
}

// borderBefore returns where the message begins that holds a position.
func (s *Session) borderBefore(ctx context.Context, at, tail Offset) (Offset, error) {
	if at == tail {
		return at, nil
	}
	b, err := s.load(ctx, at, 1)
	if err != nil {
		return 0, err
	}
	begin := b.first
	for _, end := range b.ends {
		if end > at {
			break
		}
		begin = end
	}
	return begin, nil
}

// writtenBefore returns a position such that everything before it is older than age: by what this session has seen, and by the
// times in the anchors, which tell it of the sessions before.
func (s *Session) writtenBefore(ctx context.Context, now time.Time, age time.Duration, tail Offset) (Offset, error) {
	s.mu.Lock()
	known, newest := s.retaining, s.state.number/s.anchors
	s.mu.Unlock()
	cutoff := now.Add(-age).UnixMilli()
	known.sample(now.UnixMilli(), tail)
	old := known.sampled(cutoff)
	if cutoff >= known.tooYoung {
		if err := s.searchAnchors(ctx, &known, newest, cutoff); err != nil {
			return 0, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retaining = known
	return max(old, known.first), nil
}

// searchAnchors finds the newest anchor that was written before a time.
func (s *Session) searchAnchors(ctx context.Context, known *retaining, newest SegmentNumber, cutoff int64) error {
	low, high := known.anchor, newest+1 // low is old enough, high is not, or does not exist
	known.tooYoung = 0
	for low+1 < high {
		middle := low + 1 // most likely the next one tells
		if low != known.anchor || known.anchor == 0 {
			middle = low + (high-low)/2
		}
		h, err := s.peek(ctx, middle*s.anchors)
		if err != nil {
			return err
		}
		if h.written > cutoff {
			high, known.tooYoung = middle, h.written
			continue
		}
		low, known.first = middle, h.first
	}
	known.anchor = low
	return nil
}

// peek reads the head of a segment that exists.
func (s *Session) peek(ctx context.Context, n SegmentNumber) (segment, error) {
	out, err := perform(ctx, s.store, &s.cfg.Limits, call{kind: callPeek, key: segmentKey(s.cfg.Stream, n)})
	if err == nil && out.answer != answerDone {
		err = errors.New("it is missing")
	}
	var h segment
	if err == nil {
		h, _, err = decodeHead(out.data)
	}
	if err != nil {
		return segment{}, fmt.Errorf("reading the anchor %d: %w", n, err)
	}
	return h, nil
}

// sample remembers where the stream ends now.
func (k *retaining) sample(now int64, tail Offset) {
	if n := len(k.samples); n > 0 && k.samples[n-1].tail == tail {
		return
	}
	var kept []aged // a copy: what is known may be looked at meanwhile
	every := 1
	if len(k.samples) >= retentionSamples {
		every = 2 // but never the newest
	}
	for i := every - 1; i < len(k.samples); i += every {
		kept = append(kept, k.samples[i])
	}
	k.samples = append(kept, aged{at: now, tail: tail}) //nolint:gocritic // the copy becomes the samples
}

// sampled returns the newest tail that was there before a time, 0 where none is known, and forgets those before it.
func (k *retaining) sampled(cutoff int64) Offset {
	old := -1
	for i, s := range k.samples {
		if s.at <= cutoff {
			old = i
		}
	}
	if old < 0 {
		return 0
	}
	k.samples = k.samples[old:]
	return k.samples[0].tail
}
