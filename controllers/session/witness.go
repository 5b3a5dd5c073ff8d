package session

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/engine"
)

const (
	// witnessPage is among how many streams witnesses are looked for; one whose segment is found is enough.
	witnessPage = 200
	// witnessesAtOnce are looked for at the same time.
	witnessesAtOnce = 20
)

// Witness is a segment that is in the object store as long as its stream exists: that of an opening.
type Witness struct {
	// Name of the Stream, as namespace/name; Stream is its UID.
	Name, Stream string
	Segment      int64
}

// Witnesses has the registers tell where some streams were opened last, whoever owns them.
func Witnesses(reader client.Reader) func(context.Context) ([]Witness, error) {
	return func(ctx context.Context) ([]Witness, error) {
		var streams v1alpha1.StreamList
		if err := reader.List(ctx, &streams, client.Limit(witnessPage)); err != nil {
			return nil, fmt.Errorf("asking for streams that the object store must know: %w", err)
		}
		return witnesses(streams.Items), nil
	}
}

// witnesses leaves out the streams whose log may be gone: it is being removed, or its loss is accepted.
func witnesses(streams []v1alpha1.Stream) []Witness {
	var found []Witness
	for i := range streams {
		stream := &streams[i]
		opened, deleted := stream.Status.OpenedLog, !stream.DeletionTimestamp.IsZero()
		if opened != nil && !deleted && knownSegment(stream) >= opened.Segment {
			found = append(found, Witness{client.ObjectKeyFromObject(stream).String(), string(stream.UID), opened.Segment})
		}
	}
	return found
}

// recognize returns an error where the store has none of the logs that it must have: another bucket, prefix or folder than the streams were
// written to passes every other test, and the first stream that is placed there would begin in the wrong place. It keeps the agent from
// getting streams, and a rolling update from going on; it closes no stream. Where some of the logs are there, each stream whose log is
// missing speaks for itself when it is opened.
func (e *StoreEngine) recognize(ctx context.Context) error {
	if e.Witnesses == nil {
		return nil
	}
	all, err := e.Witnesses(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	for some := range slices.Chunk(all, witnessesAtOnce) {
		found, errs := make([]bool, len(some)), make([]error, len(some))
		var looks sync.WaitGroup
		for i, witness := range some {
			looks.Go(func() {
				found[i], errs[i] = engine.Holds(ctx, e.Store, witness.Stream, engine.SegmentNumber(witness.Segment))
			})
		}
		looks.Wait()
		if slices.Contains(found, true) {
			return nil
		}
		if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
			return errs[i]
		}
	}
	return fmt.Errorf("it has no log of the streams that there are, such as segment %d of %s: it is not the object store that they are in, or it has lost them",
		all[0].Segment, all[0].Name)
}
