package slots

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// learnTimeout bounds one reading of a stream whose last step is in doubt.
const learnTimeout = 2 * time.Second

// LearnLive reads a stream from the API server where the outcome of a step on it is in doubt, and returns it; nil where
// there is no doubt, or the stream is gone.
func (l *Ledger) LearnLive(ctx context.Context, live client.Reader, stream *v1alpha1.Stream) (*v1alpha1.Stream, error) {
	if !l.Doubtful(stream.UID) {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, learnTimeout)
	defer cancel()
	fresh := &v1alpha1.Stream{}
	err := live.Get(ctx, client.ObjectKeyFromObject(stream), fresh)
	switch {
	case apierrors.IsNotFound(err), err == nil && fresh.UID != stream.UID:
		l.Forget(stream.UID)
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading what became of the last step of stream %s: %w", stream.Name, err)
	}
	l.Learn(fresh)
	return fresh, nil
}
