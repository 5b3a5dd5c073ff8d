package kubectlstream

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

// none stands for what is not there, as in the tables of kubectl.
const none = "<none>"

// Columns of priority 0 are always there, those of priority 1 in wide tables.
func column(name string, priority int32) metav1.TableColumnDefinition {
	return metav1.TableColumnDefinition{Name: name, Type: "string", Priority: priority}
}

// streamTable shows where streams are.
func streamTable(streams []v1alpha1.Stream, withNamespace bool, now time.Time) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{
		column("Name", 0), column("Node", 0), column("Epoch", 0), column("State", 0), column("Transfer", 0), column("Ready", 0), column("Age", 0),
		column("Since", 1), column("Object", 1), column("Why", 1),
	}}
	if withNamespace {
		table.ColumnDefinitions = slices.Insert(table.ColumnDefinitions, 0, column("Namespace", 0))
	}
	for i := range streams {
		stream := &streams[i]
		status := &stream.Status
		cells := []any{
			shownName(stream.Name), orNone(status.Node), fmt.Sprint(status.Epoch), orNone(string(status.State)), transferWord(status.PendingTransfer),
			word(status.Conditions, v1alpha1.ConditionReady), age(stream.CreationTimestamp, now),
			ownerSince(status, now), stream.Name, whyNot(status.Conditions, v1alpha1.ConditionReady),
		}
		if withNamespace {
			cells = slices.Insert(cells, 0, any(stream.Namespace))
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: cells})
	}
	return table
}

// nodeTable shows which nodes take streams.
func nodeTable(nodes []v1alpha1.StreamNode, now time.Time) *metav1.Table {
	table := &metav1.Table{ColumnDefinitions: []metav1.TableColumnDefinition{
		column("Name", 0), column("Ready", 0), column("Schedulable", 0), column("Drain", 0), column("Streams", 0), column("Inbound", 0),
		column("Slots", 0), column("Age", 0), column("Address", 1), column("Why", 1),
	}}
	for i := range nodes {
		node := &nodes[i]
		conditions := node.Status.Conditions
		why := whyNot(conditions, v1alpha1.ConditionReady)
		if why == none {
			why = whyNot(conditions, v1alpha1.ConditionSchedulable)
		}
		table.Rows = append(table.Rows, metav1.TableRow{Cells: []any{
			node.Name, word(conditions, v1alpha1.ConditionReady), word(conditions, v1alpha1.ConditionSchedulable), drainWord(node),
			fmt.Sprint(node.Status.Streams), fmt.Sprint(node.Status.Inbound), fmt.Sprint(node.Spec.Slots), age(node.CreationTimestamp, now),
			orNone(node.Status.Address), why,
		}})
	}
	return table
}

// drainWord tells in a few characters how the drain of a node stands.
func drainWord(node *v1alpha1.StreamNode) string {
	conditions, drain := node.Status.Conditions, node.Status.Drain
	switch {
	case condition.IsTrue(conditions, v1alpha1.ConditionDrained):
		return "drained"
	case !condition.IsTrue(conditions, v1alpha1.ConditionDraining):
		return none
	case drain == nil:
		return "draining"
	case drain.Blocked > 0:
		return fmt.Sprintf("%d/%d moved, %d blocked", drain.Moved, drain.Total, drain.Blocked)
	}
	return fmt.Sprintf("%d/%d moved", drain.Moved, drain.Total)
}

func transferWord(pending *v1alpha1.PendingTransfer) string {
	if pending == nil {
		return none
	}
	return "to " + pending.Target
}

func orNone(text string) string { return cmp.Or(text, none) }

// word is the status of a condition.
func word(conditions []metav1.Condition, conditionType string) string {
	if c, found := condition.Get(conditions, conditionType); found {
		return string(c.Status)
	}
	return string(metav1.ConditionUnknown)
}

// whyNot is the sentence of a condition that does not hold.
func whyNot(conditions []metav1.Condition, conditionType string) string {
	c, found := condition.Get(conditions, conditionType)
	switch {
	case !found:
		return "The manager has not looked at it yet."
	case c.Status == metav1.ConditionTrue:
		return none
	}
	return orNone(c.Message)
}

func age(since metav1.Time, now time.Time) string {
	if since.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(since.Time))
}

// ownerSince is for how long the owner has the stream open.
func ownerSince(status *v1alpha1.StreamStatus, now time.Time) string {
	if status.State != v1alpha1.StreamOpen || status.OpenedAt == nil {
		return none
	}
	return duration.HumanDuration(now.Sub(status.OpenedAt.Time))
}
