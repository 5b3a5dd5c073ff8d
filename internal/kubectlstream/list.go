package kubectlstream

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// listOptions say which streams are listed.
type listOptions struct {
	allNamespaces bool
	selector      string
	node          string
}

func newList(a *access) (*cobra.Command, error) {
	o := &listOptions{}
	command := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List streams: who owns them, at which epoch, and which are in transfer",
		Example: `  kubectl stream list                      # of the present namespace
  kubectl stream list -A --node node-a     # all streams that node-a owns
  kubectl stream list -l team=shop -o wide # with why they are not ready
  kubectl stream list -o jsonpath='{range .items[*]}{.metadata.name}{"\t"}{.status.node}{"\n"}{end}'`,
		Args: noArguments, ValidArgsFunction: cobra.NoFileCompletions,
	}
	out, err := newOutput(command, "")
	if err != nil {
		return nil, err
	}
	out.tables(command)
	f := command.Flags()
	f.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "List the streams of all namespaces.")
	f.StringVarP(&o.selector, "selector", "l", "", "List only streams with these labels, such as team=shop.")
	f.StringVar(&o.node, "node", "", "List only streams that this node owns.")
	command.RunE = func(c *cobra.Command, _ []string) error { return a.list(c.Context(), o, out) }
	return command, completeFlag(command, "node", a.completeNodes)
}

func (a *access) list(ctx context.Context, o *listOptions, out *output) error {
	chosen, err := selector(o.selector)
	if err != nil {
		return err
	}
	options := []client.ListOption{chosen}
	where := "any namespace"
	if !o.allNamespaces {
		namespace, err := a.namespace()
		if err != nil {
			return err
		}
		options = append(options, client.InNamespace(namespace))
		where = "namespace " + namespace
	}
	if o.node != "" {
		options = append(options, client.MatchingFields{"status.node": o.node})
	}
	c, err := a.connect(a.flags)
	if err != nil {
		return err
	}
	streams, err := listStreams(ctx, c, options...)
	if err != nil {
		return err
	}
	if len(streams.Items) == 0 && out.forPeople() {
		fmt.Fprintf(a.ErrOut, "No streams found in %s.\n", where)
		return nil
	}
	setKinds(streams.Items, "Stream")
	return out.list(streams, streamTable(streams.Items, o.allNamespaces, a.Now()), a.Out)
}

func newNodes(a *access) (*cobra.Command, error) {
	var labels string
	command := &cobra.Command{
		Use:   "nodes",
		Short: "List the nodes that may own streams: whether they take streams, and how their drains stand",
		Example: `  kubectl stream nodes
  kubectl stream nodes -o wide   # with addresses, and why a node takes no streams`,
		Args: noArguments, ValidArgsFunction: cobra.NoFileCompletions,
	}
	out, err := newOutput(command, "")
	if err != nil {
		return nil, err
	}
	out.tables(command)
	command.Flags().StringVarP(&labels, "selector", "l", "", "List only nodes with these labels.")
	command.RunE = func(c *cobra.Command, _ []string) error {
		nodes, err := a.selectedNodes(c.Context(), labels)
		if err != nil || a.toldOfNone(nodes, out) {
			return err
		}
		return out.list(nodes, nodeTable(nodes.Items, a.Now()), a.Out)
	}
	return command, nil
}

func (a *access) selectedNodes(ctx context.Context, labels string) (*v1alpha1.StreamNodeList, error) {
	chosen, err := selector(labels)
	if err != nil {
		return nil, err
	}
	c, err := a.connect(a.flags)
	if err != nil {
		return nil, err
	}
	nodes, err := listNodes(ctx, c, chosen)
	if err != nil {
		return nil, err
	}
	setKinds(nodes.Items, "StreamNode")
	return nodes, nil
}

// toldOfNone tells people, not programs, that there is nothing to show.
func (a *access) toldOfNone(nodes *v1alpha1.StreamNodeList, out *output) bool {
	if nodes == nil || len(nodes.Items) > 0 || !out.forPeople() {
		return false
	}
	fmt.Fprintln(a.ErrOut, "No nodes found.")
	return true
}
