package drain

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/placement"
)

// fieldOwner is the field manager of the part of a node's status that tells of its drain.
const fieldOwner = client.FieldOwner("streamshift-drain")

// maxBlockers is how many blockers are named; the others are counted.
const maxBlockers = 10

// report writes how far a drain is, where that changed: conditions at once, counters at most once a second.
func (r *Reconciler) report(ctx context.Context, v *view, n *nodeView, blocked []placement.Blocker) error {
	old := &n.node.Status
	if !n.leaves() && old.Drain == nil && !condition.IsTrue(old.Conditions, v1alpha1.ConditionDraining) {
		return nil
	}
	progress, set := progressOf(v.now, n, blocked), conditionsOf(n, blocked)
	merged := condition.Merge(old.Conditions, n.node.Generation, metav1.NewTime(v.now.Truncate(time.Second)), set...)
	if equality.Semantic.DeepEqual(old.Conditions, merged) && equality.Semantic.DeepEqual(old.Drain, progress) {
		return nil
	}
	fields := map[string]any{}
	if progress != nil {
		encoded, err := runtime.DefaultUnstructuredConverter.ToUnstructured(progress)
		if err != nil {
			return fmt.Errorf("encoding the progress of a drain: %w", err)
		}
		fields["drain"] = encoded
	}
	written, err := register.ApplyNodeStatus(ctx, r.Client, fieldOwner, n.node, fields, condition.Only(merged, set))
	if err != nil {
		return err //nolint:wrapcheck // says what it was doing
	}
	r.Nodes.Wrote(written)
	r.tellChanges(ctx, n.node, set)
	return nil
}

// progressOf counts; nil where no stream is to leave.
func progressOf(now time.Time, n *nodeView, blocked []placement.Blocker) *v1alpha1.DrainStatus {
	if !n.leaves() {
		return nil
	}
	remaining := int32(len(n.streams)) //nolint:gosec // bounded by the number of streams
	progress := &v1alpha1.DrainStatus{StartedAt: metav1.NewTime(now.Truncate(time.Second)), Total: remaining, Remaining: remaining}
	if before := n.node.Status.Drain; before != nil {
		progress.StartedAt, progress.Total = before.StartedAt, max(before.Total, remaining)
	}
	progress.Moved = progress.Total - remaining
	progress.Blocked = int32(len(blocked)) //nolint:gosec // as above
	for i, blocker := range blocked {
		if i == maxBlockers {
			break
		}
		progress.Blockers = append(progress.Blockers, v1alpha1.DrainBlocker{Stream: blocker.Stream, Reason: blocker.Reason, Message: limited(blocker.Message)})
	}
	return progress
}

const maxBlockerMessage = 512

func limited(message string) string { return message[:min(len(message), maxBlockerMessage)] }

// conditionsOf says how a drain stands.
func conditionsOf(n *nodeView, blocked []placement.Blocker) []condition.Condition {
	if !n.leaves() {
		const message = "Streams need not leave the node."
		return []condition.Condition{
			condition.False(v1alpha1.ConditionDraining, v1alpha1.ReasonNotDraining, message),
			condition.False(v1alpha1.ConditionDrained, v1alpha1.ReasonNotDraining, message),
			condition.False(v1alpha1.ConditionDrainBlocked, v1alpha1.ReasonNotDraining, message),
		}
	}
	drained := condition.False(v1alpha1.ConditionDrained, v1alpha1.ReasonStreamsRemain, "Streams are still to leave the node.")
	// What the register says is not enough: the node itself must have closed its sessions, unless it is gone.
	if len(n.streams) == 0 && (!n.node.Status.HoldsSessions || n.gone) {
		drained = condition.True(v1alpha1.ConditionDrained, v1alpha1.ReasonEmpty, "The node holds no stream.")
	}
	isBlocked := condition.False(v1alpha1.ConditionDrainBlocked, v1alpha1.ReasonNotBlocked, "Every stream that remains can leave.")
	if len(blocked) > 0 {
		isBlocked = condition.True(v1alpha1.ConditionDrainBlocked, blocked[0].Reason,
			fmt.Sprintf("%d streams cannot leave; the first is %s: %s.", len(blocked), blocked[0].Stream, blocked[0].Message))
	}
	return []condition.Condition{condition.True(v1alpha1.ConditionDraining, n.reason, n.message), drained, isBlocked}
}

func (r *Reconciler) tellChanges(ctx context.Context, node *v1alpha1.StreamNode, set []condition.Condition) {
	for _, c := range set {
		before, found := condition.Get(node.Status.Conditions, c.Type)
		if found && before.Status == c.Status && before.Reason == c.Reason || !found && c.Status == metav1.ConditionFalse {
			continue
		}
		kind := corev1.EventTypeNormal
		if c.Type == v1alpha1.ConditionDrainBlocked && c.Status == metav1.ConditionTrue {
			kind = corev1.EventTypeWarning
		}
		r.Events.Eventf(node, nil, kind, c.Type+string(c.Status), "Drain", "%s", c.Message)
		ctrl.LoggerFrom(ctx).Info("Drain changed", "node", node.Name, "condition", c.Type, "status", string(c.Status), "reason", c.Reason)
	}
}
