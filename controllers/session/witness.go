package session

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/engine"
)

const (
	// witnessesAtMost are looked for; one that is found is enough.
	witnessesAtMost = 8
	// witnessPage is among how many streams they are looked for.
	witnessPage = 50
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
		if known := knownSegment(stream); stream.Status.OpenedLog != nil && known >= stream.Status.OpenedLog.Segment && len(found) < witnessesAtMost {
			found = append(found, Witness{client.ObjectKeyFromObject(stream).String(), string(stream.UID), stream.Status.OpenedLog.Segment})
		}
	}
	return found
}

// recognize returns an error where the store has none of the logs that it must have: another bucket, prefix or folder than the streams were
// written to passes every other test, and the first stream that is placed there would begin in the wrong place. Where it has only some of
// them, each stream that is missing speaks for itself when it is opened.
func (e *StoreEngine) recognize(ctx context.Context) error {
	if e.Witnesses == nil {
		return nil
	}
	all, err := e.Witnesses(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	for _, witness := range all {
		held, err := engine.Holds(ctx, e.Store, witness.Stream, engine.SegmentNumber(witness.Segment))
		if err != nil || held {
			return err //nolint:wrapcheck // says what it was doing
		}
	}
	return fmt.Errorf("it has no log of the streams that there are, such as segment %d of %s: it is not the object store that they are in, or it has lost them",
		all[0].Segment, all[0].Name)
}
