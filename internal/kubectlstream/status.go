package kubectlstream

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/handoff"
)

func newStatus(a *access) (*cobra.Command, error) {
	command := &cobra.Command{
		Use:   "status NAME",
		Short: "Tell who owns a stream, since when, at which epoch, and what it waits for",
		Example: `  kubectl stream status orders
  kubectl stream status Shop/Orders -n shop
  kubectl stream status orders -o jsonpath='{.status.node}'`,
		Args:              exactly("NAME"),
		ValidArgsFunction: a.completeStreams,
	}
	out, err := newOutput(command, "")
	if err != nil {
		return nil, err
	}
	command.RunE = func(c *cobra.Command, args []string) error { return a.status(c.Context(), args[0], out) }
	return command, nil
}

func (a *access) status(ctx context.Context, argument string, out *output) error {
	c, stream, err := a.stream(ctx, argument)
	if err != nil {
		return err
	}
	if !out.forPeople() {
		return out.object(stream, a.Out)
	}
	seen, err := observe(ctx, c, stream)
	if err != nil {
		return err
	}
	seen.now = a.Now()
	w := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, r := range describe(seen) {
		if _, err := fmt.Fprintf(w, "%s:\t%s\n", r.label, r.text); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// observe reads what is told about a stream besides itself.
func observe(ctx context.Context, c client.Client, stream *v1alpha1.Stream) (sight, error) {
	seen := sight{stream: stream}
	if name := stream.Status.Node; name != "" {
		owner := &v1alpha1.StreamNode{}
		switch err := c.Get(ctx, client.ObjectKey{Name: name}, owner); {
		case err == nil:
			seen.owner = owner
		case !apierrors.IsNotFound(err):
			return seen, fmt.Errorf("reading node %s: %w", name, err)
		}
	}
	transfers, err := listTransfers(ctx, c, stream)
	if err != nil {
		return seen, err
	}
	for i := range transfers.Items {
		if !handoff.Terminal(&transfers.Items[i]) {
			seen.open = append(seen.open, transfers.Items[i])
		}
	}
	return seen, nil
}
