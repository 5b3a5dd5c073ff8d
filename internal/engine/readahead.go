package engine

import (
	"context"

	"github.com/streamshift/streamshift/internal/engine/store"
)

// readAheadAtMost is how many segments an opening reads at once.
const readAheadAtMost = 16

// readAhead lets an opening that reads many segments ask for the next ones before it wants them. How many doubles with
// each segment that was there, so that a short log is not asked for what it does not have.
type readAhead struct {
	store  store.Store
	limits *Limits
	stream string
	width  SegmentNumber
	asked  map[SegmentNumber]chan outcome
}

// runOpening drives an opening as run does, reading ahead.
func runOpening(ctx context.Context, s store.Store, limits *Limits, o *opening) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // what was asked for and is not wanted any more
	r := &readAhead{store: s, limits: limits, stream: o.stream, asked: map[SegmentNumber]chan outcome{}}
	for {
		c, more := o.next()
		if !more {
			return nil
		}
		var out outcome
		var err error
		if o.phase == openingRead {
			out, err = r.get(ctx, o.state.number+1)
		} else {
			out, err = perform(ctx, s, limits, c)
		}
		if err != nil {
			return err
		}
		if err := o.take(out); err != nil {
			return err
		}
	}
}

// get returns a segment. One that was missing when it was asked for ahead may be there now, so that is asked again.
func (r *readAhead) get(ctx context.Context, n SegmentNumber) (outcome, error) {
	if asked, ok := r.asked[n]; ok {
		delete(r.asked, n)
		if out := <-asked; out.answer == answerDone {
			r.width = min(max(1, 2*r.width), readAheadAtMost)
			r.ask(ctx, n+1)
			return out, nil
		}
	}
	out, err := perform(ctx, r.store, r.limits, call{kind: callGet, key: segmentKey(r.stream, n)})
	if err == nil && out.answer == answerDone {
		r.width = max(1, r.width)
		r.ask(ctx, n+1)
	}
	return out, err
}

// ask asks for the segments from one on, as far as they were not asked for.
func (r *readAhead) ask(ctx context.Context, from SegmentNumber) {
	for n := from; n < from+r.width; n++ {
		if _, ok := r.asked[n]; ok {
			continue
		}
		answer := make(chan outcome, 1)
		r.asked[n] = answer
		go func() {
			out, err := perform(ctx, r.store, r.limits, call{kind: callGet, key: segmentKey(r.stream, n)})
			if err != nil {
				out = outcome{answer: answerUnknown}
			}
			answer <- out
		}()
	}
}
