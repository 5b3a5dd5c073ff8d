package kubectlstream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// Status is the exit status of the plugin. Scripts rely on the numbers.
type Status int

const (
	// StatusDone: what was asked for is done.
	StatusDone Status = 0
	// StatusFailed: it was refused, or failed.
	StatusFailed Status = 1
	// StatusBlocked: a drain cannot go on; it does by itself once what blocks it is gone.
	StatusBlocked Status = 2
	// StatusTimedOut: --timeout is over; what was asked for goes on.
	StatusTimedOut Status = 3
	// StatusInterrupted: somebody pressed Ctrl-C; what was asked for goes on.
	StatusInterrupted Status = 130
)

// ended is an error with an exit status of its own.
type ended struct {
	status Status
	err    error
}

func (e *ended) Error() string { return e.err.Error() }

func (e *ended) Unwrap() error { return e.err }

// endf makes an error that ends the plugin with this status.
func endf(status Status, format string, values ...any) error {
	return &ended{status: status, err: fmt.Errorf(format, values...)}
}

// statusOf is the exit status that an error stands for.
func statusOf(err error) Status {
	var e *ended
	switch {
	case err == nil:
		return StatusDone
	case errors.As(err, &e):
		return e.status
	case errors.Is(err, context.Canceled):
		return StatusInterrupted
	}
	return StatusFailed
}

// sentenceOf is what a person reads of an error: what the API server or a webhook said, as it is, and something that says what
// to do where the error itself does not.
func sentenceOf(err error) string {
	var network net.Error
	var file *fs.PathError // whose cause passes for a net.Error, as every error of the operating system does
	var own *ended
	var gateway *unreachable
	switch {
	case errors.Is(err, context.Canceled) && !errors.As(err, &own):
		return "interrupted"
	case meta.IsNoMatchError(err):
		return fmt.Sprintf("this cluster does not know the kinds of %s: install Streamshift, or choose another cluster with --context (%v)",
			v1alpha1.GroupVersion.Group, err)
	case apierrors.IsUnauthorized(err):
		return fmt.Sprintf("the cluster does not know you: check the credentials of the kubeconfig (%v)", err)
	case errors.As(err, &network) && !errors.As(err, &gateway) && !errors.As(err, &file):
		return fmt.Sprintf("%v: check --kubeconfig, --context and that the server runs", err)
	}
	return err.Error()
}
