package streamnode

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/internal/condition"
)

// fieldOwner is the field manager of the manager's part of the status. The agent has the other part, so that neither
// overwrites what the other one knows.
const fieldOwner = client.FieldOwner("streamshift-manager")

// writeStatus applies the manager's part of a node's status where it changes anything: conditions at once, counters at most once in
// countEvery. It returns after how long the counters are to be looked at again; 0 where they are right.
func (r *Reconciler) writeStatus(ctx context.Context, v *view, set []condition.Condition) (time.Duration, error) {
	old := &v.node.Status
	merged := condition.Merge(old.Conditions, v.node.Generation, metav1.NewTime(r.Now().Truncate(time.Second)), set...)
	streams, inbound := int32(v.usage.Owned), int32(v.usage.Inbound) //nolint:gosec // bounded by the number of streams
	if old.ObservedGeneration == v.node.Generation && equality.Semantic.DeepEqual(old.Conditions, merged) {
		if old.Streams == streams && old.Inbound == inbound {
			return 0, nil
		}
		if due := r.countersDue(v.node.Name); due > 0 {
			return due, nil
		}
	}
	fields := map[string]any{"observedGeneration": v.node.Generation, "streams": int64(streams), "inbound": int64(inbound)}
	if _, err := register.ApplyNodeStatus(ctx, r.Client, fieldOwner, v.node, fields, condition.Only(merged, set)); err != nil {
		return 0, err //nolint:wrapcheck // says what it was doing
	}
	r.wroteCounters(v.node.Name)
	r.tellChanges(ctx, v.node, set)
	return 0, nil
}

// countersDue returns after how long the counters of a node may be written again; 0 where they may be now. A write makes an event, which
// asks for another look: nodes whose streams come and go would be written all the time.
func (r *Reconciler) countersDue(node string) time.Duration {
	since := r.Now().Sub(r.counted[node])
	if since < 0 {
		return 0 // the clock was set back
	}
	return max(0, countEvery-since)
}

// wroteCounters remembers when the counters of a node were written, for as long as there is the node.
func (r *Reconciler) wroteCounters(node string) {
	if r.counted == nil {
		r.counted = map[string]time.Time{}
	}
	r.counted[node] = r.Now()
}

// tellChanges makes one event and one line of log for each condition that changed.
func (r *Reconciler) tellChanges(ctx context.Context, node *v1alpha1.StreamNode, set []condition.Condition) {
	for _, c := range set {
		before, found := condition.Get(node.Status.Conditions, c.Type)
		if found && before.Status == c.Status && before.Reason == c.Reason {
			continue
		}
		kind := corev1.EventTypeNormal
		if c.Status != metav1.ConditionTrue {
			kind = corev1.EventTypeWarning
		}
		r.Events.Eventf(node, nil, kind, c.Type+string(c.Status), "Observe", "%s", c.Message)
		ctrl.LoggerFrom(ctx).Info("Node changed", "node", node.Name, "condition", c.Type, "status", string(c.Status), "reason", c.Reason)
	}
}
