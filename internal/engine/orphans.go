package engine

import (
	"context"
	"fmt"
	"strings"
)

// orphansAtMost bounds how many orphans are found at once.
const orphansAtMost = 10_000

// findOrphans looks, once in a session, for chunks and checkpoints that nothing names: of a session that ended while it was merging.
// They become garbage of the next checkpoint, and so are deleted like all other: after an anchor of this session names that, which
// only an unfenced one can write.
//
// What a checkpoint of the log names is named by the newest one, as a chunk or as garbage, or is deleted; what other sessions
// wrote besides, they can name no more, since their next segment collides with this session's opening. A successor's objects
// may be among what is found; then this session is fenced and writes no anchor.
func (s *Session) findOrphans(ctx context.Context, newest *checkpoint, ref reference) ([]string, error) {
	s.mu.Lock()
	tidied := s.merger.tidied
	s.mu.Unlock()
	if tidied {
		return nil, nil
	}
	named := map[string]bool{checkpointName(ref): true}
	for i := range newest.chunks {
		named[chunkName(&newest.chunks[i])] = true
	}
	for _, name := range newest.garbage.objects {
		named[name] = true
	}
	var orphans []string
	for _, folder := range []string{"chunk/", "checkpoint/"} {
		keys, err := s.list(ctx, objectKey(s.cfg.Stream, folder))
		if err != nil {
			return nil, fmt.Errorf("looking for objects that nothing names: %w", err)
		}
		for _, key := range keys {
			name := strings.TrimPrefix(key, s.cfg.Stream+"/")
			if !named[name] && !strings.HasSuffix(name, "-"+s.cfg.Session) {
				orphans = append(orphans, name)
			}
		}
	}
	return orphans, nil
}

func (s *Session) list(ctx context.Context, prefix string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Limits.StoreTimeout)
	defer cancel()
	return s.store.List(ctx, prefix, "", orphansAtMost)
}
