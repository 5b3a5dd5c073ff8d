package kubectlstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/handoff"
)

// cancelOptions are the flags of cancel.
type cancelOptions struct {
	wait    bool
	timeout time.Duration
}

func newCancel(a *access) (*cobra.Command, error) {
	o := &cancelOptions{}
	command := &cobra.Command{
		Use:   "cancel TRANSFER|STREAM",
		Short: "Withdraw a transfer that is not committed yet, or all such transfers of a stream",
		Long: `Withdraw a transfer that is not committed yet, or all such transfers of a stream: sets spec.cancel of the StreamTransfer. The owner
goes on as before. A name that both a transfer and a stream have is the transfer's.

With --wait the exit status tells how it ended: 0 cancelled, 1 it was too late and the stream went to the target, or the transfer
failed, 3 not ended within --timeout.`,
		Example: `  kubectl stream cancel orders-x7k2p --wait
  kubectl stream cancel orders`,
		Args:              exactly("TRANSFER|STREAM"),
		ValidArgsFunction: a.completeCancellable,
	}
	command.Flags().BoolVar(&o.wait, "wait", false, "Wait until each transfer has ended.")
	command.Flags().DurationVar(&o.timeout, "timeout", transferTimeout, "How long --wait waits for each transfer. 0: without end.")
	command.RunE = func(c *cobra.Command, args []string) error { return a.cancel(c.Context(), args[0], o) }
	return command, nil
}

func (a *access) cancel(ctx context.Context, argument string, o *cancelOptions) error {
	c, transfers, err := a.cancellable(ctx, argument)
	if err != nil {
		return err
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"cancel":true}}`))
	for i := range transfers {
		transfer := &transfers[i]
		if err := c.Patch(ctx, transfer, patch); err != nil {
			return fmt.Errorf("cancelling transfer %s: %w", transfer.Name, err)
		}
		fmt.Fprintf(a.Out, "streamtransfer/%s is to be cancelled\n", transfer.Name)
		if transfer.Labels[v1alpha1.LabelCause] == v1alpha1.CauseDrain {
			source := transfer.Labels[v1alpha1.LabelSourceNode]
			fmt.Fprintf(a.ErrOut, "The drain of %s made it, and will make another one: kubectl stream uncordon %s ends the drain.\n", source, source)
		}
	}
	if !o.wait {
		return nil
	}
	var errs []error
	for i := range transfers {
		last, err := awaitTransfer(ctx, c, &transfers[i], o.timeout, a.Out)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		switch result, sentence := outcomeOf(last); result {
		case withdrawn:
			fmt.Fprintln(a.Out, sentence)
		case moved:
			errs = append(errs, fmt.Errorf("too late to cancel: %s", sentence))
		case failed, underWay:
			errs = append(errs, errors.New(sentence))
		}
	}
	return errors.Join(errs...)
}

// cancellable returns the transfers that a name stands for, all of which have not ended.
func (a *access) cancellable(ctx context.Context, argument string) (client.WithWatch, []v1alpha1.StreamTransfer, error) {
	namespace, err := a.namespace()
	if err != nil {
		return nil, nil, err
	}
	c, err := a.connect(a.flags)
	if err != nil {
		return nil, nil, err
	}
	name, err := objectName(argument)
	if err != nil {
		return nil, nil, err
	}
	transfer := v1alpha1.StreamTransfer{}
	switch err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &transfer); {
	case err == nil && handoff.Terminal(&transfer):
		_, sentence := outcomeOf(&transfer)
		return nil, nil, fmt.Errorf("transfer %q has ended already: %s", argument, sentence)
	case err == nil:
		return c, []v1alpha1.StreamTransfer{transfer}, nil
	case !apierrors.IsNotFound(err):
		return nil, nil, fmt.Errorf("reading transfer %s: %w", argument, err)
	}
	stream := &v1alpha1.Stream{}
	switch err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, stream); {
	case apierrors.IsNotFound(err):
		return nil, nil, fmt.Errorf("neither a transfer nor a stream in namespace %q is called %q: "+
			"kubectl get streamtransfers lists the transfers, kubectl stream list the streams", namespace, argument)
	case err != nil:
		return nil, nil, fmt.Errorf("reading stream %s: %w", argument, err)
	}
	seen, err := observe(ctx, c, stream)
	if err != nil {
		return nil, nil, err
	}
	if len(seen.open) == 0 {
		return nil, nil, fmt.Errorf("stream %q is not in transfer: there is nothing to cancel", argument)
	}
	return c, seen.open, nil
}
