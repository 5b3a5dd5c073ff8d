package register

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/crashpoint"
	"github.com/streamshift/streamshift/internal/handoff"
)

// ErrRefused tells that the API server refused a step: the register is not what the step was decided from, or the step
// is not legal. Nothing changed; the proposer looks again and decides again.
var ErrRefused = errors.New("step is refused")

// proposalTimeout bounds one proposal. A pending step is repeated at least once a second, but an API server that is
// merely slow must get its chance to answer.
const proposalTimeout = 5 * time.Second

// Propose sends a step on the stream's register and returns the stream as it is after it. The error is ErrRefused, or
// what kept the answer away, after which the step may or may not have been taken.
func Propose(ctx context.Context, c client.Client, stream *v1alpha1.Stream, step handoff.Step) (*v1alpha1.Stream, error) {
	ctx, cancel := context.WithTimeout(ctx, proposalTimeout)
	defer cancel()
	updated := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: stream.Namespace, Name: stream.Name}}
	crashpoint.Pass(crashpoint.BeforeStep(step.Name))
	err := c.Status().Patch(ctx, updated, client.RawPatch(types.JSONPatchType, step.Patch))
	crashpoint.Pass(crashpoint.AfterStep(step.Name))
	switch {
	case err == nil:
		return updated, nil
	case apierrors.IsInvalid(err), apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%w: %s: %w", ErrRefused, step.Name, err)
	}
	return nil, fmt.Errorf("proposing %s: %w", step.Name, err)
}
