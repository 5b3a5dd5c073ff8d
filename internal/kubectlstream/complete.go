package kubectlstream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/handoff"
)

// completionTimeout is how long somebody who pressed the tab key waits.
const completionTimeout = 3 * time.Second

// completer returns what an argument or flag may be; without an error it says nothing of what it could not find out.
type completer = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective)

func completeFlag(command *cobra.Command, name string, by completer) error {
	if err := command.RegisterFlagCompletionFunc(name, by); err != nil {
		return fmt.Errorf("completing --%s: %w", name, err)
	}
	return nil
}

// completeFlags completes the flags that every command has.
func (a *access) completeFlags(root *cobra.Command) error {
	kubeconfig := func(names func(clientcmdapi.Config) []string) completer {
		return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			config, err := a.flags.ToRawKubeConfigLoader().RawConfig()
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return names(config), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for name, by := range map[string]completer{
		"namespace": a.completeNamespaces,
		"context":   kubeconfig(func(c clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.Contexts)) }),
		"cluster":   kubeconfig(func(c clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.Clusters)) }),
		"user":      kubeconfig(func(c clientcmdapi.Config) []string { return slices.Sorted(maps.Keys(c.AuthInfos)) }),
	} {
		if err := completeFlag(root, name, by); err != nil {
			return err
		}
	}
	return nil
}

// suggest asks the cluster.
func (a *access) suggest(c *cobra.Command, names func(context.Context, client.Client) ([]string, error)) ([]cobra.Completion, cobra.ShellCompDirective) {
	parent := c.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, cancel := context.WithTimeout(parent, completionTimeout)
	defer cancel()
	cluster, err := a.connect(a.flags)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	found, err := names(ctx, cluster)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeOne completes the first argument only.
func (a *access) completeOne(by completer) completer {
	return func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return by(c, args, begun)
	}
}

func (a *access) completeStreams(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completeOne(func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.suggest(c, a.streamNames)
	})(c, args, begun)
}

func (a *access) streamNames(ctx context.Context, c client.Client) ([]string, error) {
	namespace, err := a.namespace()
	if err != nil {
		return nil, err
	}
	streams, err := listStreams(ctx, c, client.InNamespace(namespace))
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range streams.Items {
		names = append(names, cobra.CompletionWithDesc(shownName(streams.Items[i].Name), "on "+orNone(streams.Items[i].Status.Node)))
	}
	return names, nil
}

// completeCancellable names the transfers that have not ended.
func (a *access) completeCancellable(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completeOne(func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return a.suggest(c, func(ctx context.Context, c client.Client) ([]string, error) {
			namespace, err := a.namespace()
			if err != nil {
				return nil, err
			}
			list := &v1alpha1.StreamTransferList{}
			if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
				return nil, fmt.Errorf("listing transfers: %w", err)
			}
			var names []string
			for i := range list.Items {
				if transfer := &list.Items[i]; !handoff.Terminal(transfer) {
					names = append(names, cobra.CompletionWithDesc(transfer.Name, shownName(transfer.Spec.Stream)+" to "+transfer.Spec.Target))
				}
			}
			return names, nil
		})
	})(c, args, begun)
}

func (a *access) completeNodes(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.nodeNames(c, func(*v1alpha1.StreamNode) bool { return true })
}

// completeTargets names the nodes that take streams.
func (a *access) completeTargets(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.nodeNames(c, func(node *v1alpha1.StreamNode) bool { return condition.NodeUnfit(node) == "" })
}

func (a *access) nodeNames(c *cobra.Command, fits func(*v1alpha1.StreamNode) bool) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.suggest(c, func(ctx context.Context, c client.Client) ([]string, error) {
		nodes, err := listNodes(ctx, c)
		if err != nil {
			return nil, err
		}
		var names []string
		for i := range nodes.Items {
			if node := &nodes.Items[i]; fits(node) {
				names = append(names, cobra.CompletionWithDesc(node.Name, fmt.Sprintf("%d of %d slots used", taken(node), node.Spec.Slots)))
			}
		}
		return names, nil
	})
}

func (a *access) completeNamespaces(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.suggest(c, func(ctx context.Context, c client.Client) ([]string, error) {
		list := &corev1.NamespaceList{}
		if err := c.List(ctx, list); err != nil {
			return nil, fmt.Errorf("listing namespaces: %w", err)
		}
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names, nil
	})
}
