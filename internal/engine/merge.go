package engine

import (
	"context"
	"fmt"
	"slices"
)

// merger is what a session knows of its checkpoint, and whether it works on the next one.
type merger struct {
	// ref names the newest checkpoint of this session or of the log; loaded is it, nil until somebody needs it.
	ref    reference
	loaded *checkpoint
	// activity is what the background does; there is never more than one goroutine.
	activity mergeActivity
	bytes    int // of the objects of the spans
	// tidied tells that this session has looked for orphans.
	tidied bool
	// due is the garbage that an anchor of this session allows to delete; nil where there is none.
	due *dueSweep
}

// dueSweep is the garbage of a checkpoint that an anchor names.
type dueSweep struct {
	ref     reference
	garbage garbage
}

type mergeActivity byte

const (
	mergeIdle mergeActivity = iota
	mergeMerging
	mergeSweeping
)

// background starts a merging or a sweep where one is due. It is called with the lock, after a segment was committed.
func (s *Session) background(committed *segment) {
	m := &s.merger
	if committed.number%s.anchors == 0 && m.loaded != nil && committed.checkpoint == m.ref && m.loaded.garbage.size() > 0 {
		m.due = &dueSweep{ref: m.ref, garbage: m.loaded.garbage}
	}
	if m.activity != mergeIdle || s.last != 0 || s.err != nil {
		return
	}
	switch {
	case m.due != nil:
		m.activity = mergeSweeping
		go s.sweep(m.due)
		m.due = nil
	case len(s.spans) >= s.cfg.Limits.CheckpointSegments || m.bytes >= s.cfg.Limits.CheckpointBytes:
		m.activity = mergeMerging
		plan := &mergePlan{
			session: s.cfg.Session, state: s.state.clone(), spans: slices.Clone(s.spans), anchors: s.anchors,
			chunkBytes: s.cfg.Limits.ChunkBytes, blockBytes: s.cfg.Limits.BlockBytes, garbageLimit: garbageAtMost,
		}
		go s.merge(plan)
	}
}

// garbageAtMost bounds each list of garbage in a checkpoint.
const garbageAtMost = 100_000

// merge makes a checkpoint of what the plan holds.
func (s *Session) merge(plan *mergePlan) {
	err := s.tryMerge(s.work, plan)
	if err != nil && s.work.Err() == nil {
		s.cfg.Log.Info("Failed to make a checkpoint", "stream", s.cfg.Stream, "epoch", s.cfg.Epoch, "error", err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.merger.activity = mergeIdle
}

func (s *Session) tryMerge(ctx context.Context, plan *mergePlan) error {
	base, ref, err := s.loadCheckpoint(ctx)
	if err != nil {
		return err
	}
	plan.base, plan.baseRef = base, ref
	if plan.orphans, err = s.findOrphans(ctx, base, ref); err != nil {
		return err
	}
	var blocks []*block
	for _, chunk := range plan.needs() {
		more, err := s.loadChunk(ctx, &chunk)
		if err != nil {
			return fmt.Errorf("reading chunk %s: %w", chunkName(&chunk), err)
		}
		blocks = append(blocks, more...)
	}
	for _, sp := range plan.spans {
		if sp.end == sp.first {
			continue
		}
		b, err := s.loadSpan(ctx, sp)
		if err != nil {
			return err
		}
		blocks = append(blocks, b)
	}
	m := plan.build(s.cfg.Stream, blocks)
	if err := run(ctx, s.store, &s.cfg.Limits, m); err != nil {
		return err
	}
	s.adopt(m)
	if s.cfg.Metrics.Checkpointed != nil {
		s.cfg.Metrics.Checkpointed(len(plan.spans), int64(plan.state.tail-plan.tailOfBase()))
	}
	return nil
}

// adopt goes on from a new checkpoint: the next segment names it, reads use its chunks.
func (s *Session) adopt(m *merging) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != 0 || s.err != nil {
		return // the closing segment may be on its way already, and names the checkpoint before
	}
	// Only these are looked at from here on; the state itself would be kept twice.
	loaded := m.result
	loaded.state.producers = producers{}
	s.merger.ref, s.merger.loaded, s.merger.tidied = m.ref, &loaded, true
	s.spans = slices.Clone(uncovered(s.spans, m.ref))
	s.merger.bytes = 0
	for _, sp := range s.spans {
		s.merger.bytes += sp.size
	}
}

// sweep deletes the garbage of a checkpoint.
func (s *Session) sweep(due *dueSweep) {
	w := &sweep{stream: s.cfg.Stream, left: due.garbage}
	err := run(s.work, s.store, &s.cfg.Limits, w)
	if err != nil && s.work.Err() == nil {
		s.cfg.Log.Info("Failed to delete what a checkpoint replaced", "stream", s.cfg.Stream, "epoch", s.cfg.Epoch, "error", err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.merger.activity = mergeIdle
	if err == nil && s.merger.ref == due.ref {
		s.merger.loaded.garbage = garbage{} // the next checkpoint need not carry it on
	}
}

// loadCheckpoint returns the newest checkpoint, an empty one where there is none.
func (s *Session) loadCheckpoint(ctx context.Context) (*checkpoint, reference, error) {
	s.mu.Lock()
	ref, loaded := s.merger.ref, s.merger.loaded
	s.mu.Unlock()
	if loaded != nil {
		return loaded, ref, nil
	}
	if ref.covers == 0 {
		return &checkpoint{}, ref, nil
	}
	out, err := perform(ctx, s.store, &s.cfg.Limits, call{kind: callGet, key: objectKey(s.cfg.Stream, checkpointName(ref))})
	if err == nil && out.answer == answerAbsent {
		err = errGone
	}
	if err == nil {
		loaded, err = decodeCheckpoint(out.data)
	}
	if err == nil && (loaded.stream != s.cfg.Stream || loaded.state.number != ref.covers) {
		err = fmt.Errorf("%w: it belongs to another stream or segment", errMalformed)
	}
	if err != nil {
		return nil, ref, fmt.Errorf("reading checkpoint %d: %w", ref.covers, err)
	}
	loaded.state.producers = producers{}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.merger.ref == ref && s.merger.loaded == nil {
		s.merger.loaded = loaded
	}
	return loaded, ref, nil
}
