package kubectlstream

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

// What top shows.
const (
	topNodes   = "nodes"
	topStreams = "streams"
)

func newTop(a *access) (*cobra.Command, error) {
	var labels string
	command := &cobra.Command{
		Use:   "top [nodes|streams]",
		Short: "Show what nodes, or the busiest streams of each, have to do",
		Long: `Show what nodes, or the busiest streams of each, have to do, the busiest first: bytes appended and requests a second, averaged over
some minutes. Agents report the load where it has changed much, and the streams that do most of it. A slot is used by a stream
that the node owns, and by a pending transfer to it.`,
		Example: `  kubectl stream top
  kubectl stream top streams`,
		Args:      cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []cobra.Completion{topNodes, topStreams},
	}
	out, err := newOutput(command, "")
	if err != nil {
		return nil, err
	}
	out.tables(command)
	command.Flags().StringVarP(&labels, "selector", "l", "", "Show only nodes with these labels, or the streams on them.")
	command.RunE = func(c *cobra.Command, args []string) error {
		nodes, err := a.selectedNodes(c.Context(), labels)
		if err != nil || a.toldOfNone(nodes, out) {
			return err
		}
		if len(args) == 0 || args[0] == topNodes {
			return out.list(nodes, topNodesTable(nodes.Items), a.Out)
		}
		table := topStreamsTable(nodes.Items)
		if len(table.Rows) == 0 && out.forPeople() {
			fmt.Fprintln(a.ErrOut, "No node reports any load.")
			return nil
		}
		return out.list(nodes, table, a.Out)
	}
	return command, nil
}

// topNodesTable shows what nodes have to do, the busiest first, and how full they are.
func topNodesTable(nodes []v1alpha1.StreamNode) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{
		column("Name", 0), column("Bytes/s", 0), column("Requests/s", 0), column("Append", 0), column("Streams", 0), column("Inbound", 0),
		column("Slots", 0), column("Used", 0), column("Takes streams", 1),
	}}
	ranked := slices.Clone(nodes)
	slices.SortStableFunc(ranked, func(a, b v1alpha1.StreamNode) int {
		return cmp.Or(
			cmp.Compare(loadOf(&b).BytesPerSecond, loadOf(&a).BytesPerSecond), cmp.Compare(loadOf(&b).RequestsPerSecond, loadOf(&a).RequestsPerSecond),
			cmp.Compare(usedShare(&b), usedShare(&a)), cmp.Compare(a.Name, b.Name))
	})
	for i := range ranked {
		node := &ranked[i]
		load, takes := loadOf(node), "yes"
		if unfit := condition.NodeUnfit(node); unfit != "" {
			takes = "no: it " + unfit
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{
			node.Name, quantity(load.BytesPerSecond, resource.BinarySI), quantity(load.RequestsPerSecond, resource.DecimalSI), appendTime(load),
			fmt.Sprint(node.Status.Streams), fmt.Sprint(node.Status.Inbound), fmt.Sprint(node.Spec.Slots),
			fmt.Sprintf("%.0f%%", 100*usedShare(node)), takes,
		}})
	}
	return table
}

// topStreamsTable shows the streams that nodes report as their busiest.
func topStreamsTable(nodes []v1alpha1.StreamNode) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{
		column("Namespace", 0), column("Name", 0), column("Node", 0), column("Bytes/s", 0), column("Requests/s", 0),
	}}
	type busy struct {
		v1alpha1.StreamLoad
		node string
	}
	var ranked []busy
	for i := range nodes {
		for _, stream := range loadOf(&nodes[i]).Streams {
			ranked = append(ranked, busy{stream, nodes[i].Name})
		}
	}
	slices.SortStableFunc(ranked, func(a, b busy) int {
		return cmp.Or(cmp.Compare(b.BytesPerSecond, a.BytesPerSecond), cmp.Compare(b.RequestsPerSecond, a.RequestsPerSecond), cmp.Compare(a.Stream, b.Stream))
	})
	for _, stream := range ranked {
		namespace, name, _ := strings.Cut(stream.Stream, "/")
		table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{
			namespace, shownName(name), stream.node,
			quantity(stream.BytesPerSecond, resource.BinarySI), quantity(stream.RequestsPerSecond, resource.DecimalSI),
		}})
	}
	return table
}

// loadOf is the load that a node reports; nothing where it reports none.
func loadOf(node *v1alpha1.StreamNode) v1alpha1.NodeLoad {
	if node.Status.Load == nil {
		return v1alpha1.NodeLoad{}
	}
	return *node.Status.Load
}

// quantity shows a number as kubectl does, to about three digits: 980, 12Mi.
func quantity(n int64, format resource.Format) string {
	base := int64(1000)
	if format == resource.BinarySI {
		base = 1024
	}
	unit := int64(1)
	for n/unit >= 10*base {
		unit *= base
	}
	return resource.NewQuantity(n/unit*unit, format).String()
}

// appendTime is how long an append takes on average.
func appendTime(load v1alpha1.NodeLoad) string {
	if load.AppendMicros == 0 {
		return none
	}
	return (time.Duration(load.AppendMicros) * time.Microsecond).Round(100 * time.Microsecond).String()
}

// taken is the number of slots that streams have, or will have when the transfers to the node end.
func taken(node *v1alpha1.StreamNode) int32 { return node.Status.Streams + node.Status.Inbound }

// usedShare is the part of its slots that a node has taken; a node without slots is full.
func usedShare(node *v1alpha1.StreamNode) float64 {
	if node.Spec.Slots == 0 {
		return 1
	}
	return float64(taken(node)) / float64(node.Spec.Slots)
}
