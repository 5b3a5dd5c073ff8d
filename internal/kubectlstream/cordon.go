package kubectlstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

// cordon makes a node unschedulable, and tells what it did: the Kubernetes Node, whose cordon everybody understands, or the
// StreamNode where there is none.
func cordon(ctx context.Context, c client.Client, name string) (string, error) {
	kubernetesNode := &corev1.Node{}
	switch err := c.Get(ctx, client.ObjectKey{Name: name}, kubernetesNode); {
	case err == nil:
		return mark(ctx, c, kubernetesNode, "node/"+name, kubernetesNode.Spec.Unschedulable, true)
	case !apierrors.IsNotFound(err):
		return "", fmt.Errorf("reading Kubernetes node %s: %w", name, err)
	}
	streamNode, err := node(ctx, c, name)
	if err != nil {
		return "", err
	}
	return mark(ctx, c, streamNode, "streamnode/"+name, streamNode.Spec.Unschedulable, true)
}

// mark sets spec.unschedulable of a Node or StreamNode, where it is not as it shall be, and tells that.
func mark(ctx context.Context, c client.Client, object client.Object, title string, is, shall bool) (string, error) {
	word := "uncordoned"
	if shall {
		word = "cordoned"
	}
	if is == shall {
		return title + " already " + word, nil
	}
	patch := fmt.Sprintf(`{"spec":{"unschedulable":%t}}`, shall)
	if err := c.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return "", fmt.Errorf("making %s %s: %w", title, word, err)
	}
	return title + " " + word, nil
}

// uncordonTimeout is how long uncordon waits to see the drain end.
const uncordonTimeout = 10 * time.Second

func newUncordon(a *access) (*cobra.Command, error) {
	var timeout time.Duration
	command := &cobra.Command{
		Use:   "uncordon NODE",
		Short: "Let a node take streams again, and withdraw its drain",
		Long: `Let a node take streams again, and withdraw its drain: transfers that have not started are cancelled, those under way end. Streams
that have left do not come back by themselves. Undoes the cordon of the Kubernetes Node and of the StreamNode.

The exit status is 0 once the node takes streams, 1 where something failed, 2 where something else keeps streams off it, such as
a taint (it is told), 3 where the manager has not looked at it within --timeout.`,
		Example:           `  kubectl stream uncordon node-a`,
		Args:              exactly("NODE"),
		ValidArgsFunction: a.completeOne(a.completeNodes),
	}
	command.Flags().DurationVar(&timeout, "timeout", uncordonTimeout, "How long to wait until the node takes streams. 0: do not wait.")
	command.RunE = func(c *cobra.Command, args []string) error { return a.uncordon(c.Context(), args[0], timeout) }
	return command, nil
}

func (a *access) uncordon(ctx context.Context, name string, timeout time.Duration) error {
	c, err := a.connect(a.flags)
	if err != nil {
		return err
	}
	streamNode, err := node(ctx, c, name)
	if err != nil {
		return err
	}
	kubernetesNode := &corev1.Node{}
	switch err := c.Get(ctx, client.ObjectKey{Name: name}, kubernetesNode); {
	case err == nil:
		done, err := mark(ctx, c, kubernetesNode, "node/"+name, kubernetesNode.Spec.Unschedulable, false)
		if err != nil {
			return err
		}
		fmt.Fprintln(a.Out, done)
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("reading Kubernetes node %s: %w", name, err)
	}
	if streamNode.Spec.Unschedulable || kubernetesNode.Name == "" {
		done, err := mark(ctx, c, streamNode, "streamnode/"+name, streamNode.Spec.Unschedulable, false)
		if err != nil {
			return err
		}
		fmt.Fprintln(a.Out, done)
	}
	if timeout == 0 {
		return nil
	}
	return awaitSchedulable(ctx, c, name, timeout)
}

// awaitSchedulable waits until the manager has seen that a node is uncordoned, and tells what else keeps streams off it.
func awaitSchedulable(ctx context.Context, c client.WithWatch, name string, timeout time.Duration) error {
	bounded, cancel := limited(ctx, timeout)
	defer cancel()
	last := &v1alpha1.StreamNode{}
	f := &followed[*v1alpha1.StreamNode]{
		client: c, key: client.ObjectKey{Name: name}, empty: func() *v1alpha1.StreamNode { return &v1alpha1.StreamNode{} },
		list: &v1alpha1.StreamNodeList{},
		look: func(node *v1alpha1.StreamNode, _ bool) bool {
			last = node
			conditions := node.Status.Conditions
			return condition.IsTrue(conditions, v1alpha1.ConditionSchedulable) && !condition.IsTrue(conditions, v1alpha1.ConditionDraining)
		},
	}
	err := f.follow(bounded)
	if err == nil || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return err
	}
	draining, _ := condition.Get(last.Status.Conditions, v1alpha1.ConditionDraining)
	schedulable, found := condition.Get(last.Status.Conditions, v1alpha1.ConditionSchedulable)
	switch {
	case condition.IsTrue(last.Status.Conditions, v1alpha1.ConditionDraining):
		return endf(StatusBlocked, "%s is uncordoned, but its streams still leave: %s (%s)", name, draining.Message, draining.Reason)
	case found && !condition.IsTrue(last.Status.Conditions, v1alpha1.ConditionSchedulable):
		return endf(StatusBlocked, "%s is uncordoned, but takes no streams: %s (%s)", name, schedulable.Message, schedulable.Reason)
	}
	return endf(StatusTimedOut, "%s is uncordoned, but the manager has not looked at it within %s: does it run?", name, timeout)
}
