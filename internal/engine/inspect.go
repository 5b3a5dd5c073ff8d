package engine

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/streamshift/streamshift/internal/engine/store"
)

// Report is what Inspect found in a stream's objects.
type Report struct {
	// Life is "not created", "open", "closed" or "deleted".
	Life        string
	Epoch       Epoch
	Session     string
	Last        SegmentNumber
	Checkpoint  SegmentNumber
	Start, Tail Offset
	// Chunks and Segments hold the payload, Messages are in it from the start on or reach into it.
	Chunks, Segments, Messages int
	Producers                  int
}

// Holds tells whether a stream's log has a segment in this store.
func Holds(ctx context.Context, st store.Store, stream string, segment SegmentNumber) (bool, error) {
	limits := Limits{}.withDefaults()
	out, err := perform(ctx, st, &limits, call{kind: callPeek, key: segmentKey(stream, segment)})
	if err != nil {
		return false, fmt.Errorf("looking for segment %d of stream %s: %w", segment, stream, err)
	}
	return out.answer == answerDone, nil
}

// Inspect reads a stream as a session would that opens it without a hint, but writes nothing: it checks every object
// that is part of the log behind the newest checkpoint, and every chunk. visit, which may be nil, is called for each
// message in order with its position. The stream may be open meanwhile; then Inspect may have to be repeated.
func Inspect(ctx context.Context, st store.Store, stream string, visit func(Offset, []byte) error) (Report, error) {
	r, err := inspect(ctx, st, stream, visit)
	if err != nil {
		return r, fmt.Errorf("inspecting stream %s: %w", stream, err)
	}
	return r, nil
}

func inspect(ctx context.Context, st store.Store, stream string, visit func(Offset, []byte) error) (Report, error) {
	cfg := Config{Stream: stream, Session: "inspection", Epoch: math.MaxInt64}
	if err := cfg.prepare(); err != nil {
		return Report{}, err
	}
	o, err := readLog(ctx, st, &cfg)
	if err != nil {
		return Report{}, err
	}
	r := reportOf(&o.state)
	if o.state.number == 0 {
		return r, errors.New("it has no segment in this store: its name there is the UID of its Stream object, and the store's URL has its prefix")
	}
	// A session that is never opened reads for us: it has the index and the decoders.
	s := &Session{store: st, cfg: cfg, spans: o.spans, state: o.state, merger: merger{ref: o.state.checkpoint}}
	c, _, err := s.loadCheckpoint(ctx)
	if err != nil {
		return r, err
	}
	p := passage{report: &r, at: -1, visit: visit}
	for i := range c.chunks {
		blocks, err := s.loadChunk(ctx, &c.chunks[i])
		if err == nil {
			err = p.pass(blocks)
		}
		if err != nil {
			return r, fmt.Errorf("reading chunk %s: %w", chunkName(&c.chunks[i]), err)
		}
		r.Chunks++
	}
	for _, sp := range o.spans {
		if sp.end == sp.first || sp.end <= r.Start {
			continue // nothing that is retained
		}
		b, err := s.loadSpan(ctx, sp)
		if err == nil {
			err = p.pass([]*block{b})
		}
		if err != nil {
			return r, err
		}
		r.Segments++
	}
	if p.at != r.Tail && (p.at >= 0 || r.Start != r.Tail) {
		return r, fmt.Errorf("%w: the payload ends at %d, the tail is %d", errMalformed, p.at, r.Tail)
	}
	return r, nil
}

// passage goes through the payload and demands that it has no gap from the start on.
type passage struct {
	report *Report
	at     Offset // behind what was passed, -1 before the first
	visit  func(Offset, []byte) error
}

func (p *passage) pass(blocks []*block) error {
	for _, b := range blocks {
		if b.end() <= p.report.Start {
			continue
		}
		if p.at >= 0 && b.first != p.at || p.at < 0 && b.first > p.report.Start {
			return fmt.Errorf("%w: the payload before position %d is missing", errMalformed, b.first)
		}
		if err := p.messages(b); err != nil {
			return err
		}
		p.at = b.end()
	}
	return nil
}

// messages passes those on that are retained.
func (p *passage) messages(b *block) error {
	for i, m := range b.messages {
		if b.ends[i] <= p.report.Start {
			continue
		}
		p.report.Messages++
		if p.visit == nil {
			continue
		}
		if err := p.visit(b.ends[i]-Offset(len(m)), m); err != nil {
			return err
		}
	}
	return nil
}

// readLog drives an opening up to the point where it would write.
func readLog(ctx context.Context, st store.Store, cfg *Config) (*opening, error) {
	o := newOpening(opener{
		stream: cfg.Stream, session: cfg.Session, epoch: cfg.Epoch, producers: maxProducers, anchors: anchorEvery,
	}, 0)
	for o.phase != openingPropose {
		c, _ := o.next()
		out, err := perform(ctx, st, &cfg.Limits, c)
		if err != nil {
			return nil, err
		}
		err = o.take(out)
		if errors.Is(err, ErrStreamDeleted) {
			return o, nil // read to its end all the same
		}
		if err != nil {
			return nil, err
		}
	}
	return o, nil
}

func reportOf(st *state) Report {
	return Report{
		Life:  [...]string{"not created", "open", "closed", "deleted"}[st.life],
		Epoch: st.epoch, Session: st.session, Last: st.number, Checkpoint: st.checkpoint.covers,
		Start: st.start, Tail: st.tail, Producers: len(st.producers.byID),
	}
}
