package statusz

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// cached reads a world as the manager's cache does.
type cached struct {
	client.Reader

	world *world
	err   error
}

func (c cached) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	if c.err != nil {
		return c.err
	}
	switch list := into.(type) {
	case *v1alpha1.StreamList:
		*list = c.world.streams
	case *v1alpha1.StreamNodeList:
		*list = c.world.nodes
	case *v1alpha1.StreamTransferList:
		*list = c.world.transfers
	case *v1alpha1.StreamRebalanceList:
		*list = c.world.rebalances
	}
	return nil
}

func handlerOf(w *world) *Handler {
	return &Handler{Client: cached{world: w}, Elected: make(chan struct{}), Identity: "manager-1", Now: func() time.Time { return noon }, Log: logr.Discard()}
}

// answer is what a page is served with.
type answer struct {
	StatusCode int
	Header     http.Header
}

func get(t *testing.T, h *Handler, method, target string) (got answer, page string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, httptest.NewRequest(method, target, http.NoBody))
	return answer{recorder.Code, recorder.Header()}, recorder.Body.String()
}

func at(seconds float64) *metav1.MicroTime {
	moment := metav1.NewMicroTime(noon.Add(time.Duration(seconds * float64(time.Second))))
	return &moment
}

func conditionOf(kind string, status metav1.ConditionStatus, reason, message string, seconds float64) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(at(seconds).Time)}
}

func newStream(name, node string, ready metav1.Condition) v1alpha1.Stream {
	return v1alpha1.Stream{
		ObjectMeta: metav1.ObjectMeta{Namespace: "orders", Name: name, UID: types.UID(name)},
		Status:     v1alpha1.StreamStatus{Node: node, Epoch: 3, State: v1alpha1.StreamOpen, Conditions: []metav1.Condition{ready}},
	}
}

func served() metav1.Condition {
	return conditionOf(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonOpen, "", -100)
}

func newTransfer(name, stream, target string, created float64) v1alpha1.StreamTransfer {
	return v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "orders", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(at(created).Time)},
		Spec:       v1alpha1.StreamTransferSpec{Stream: stream, Target: target},
	}
}

// ended is a transfer with a window.
func ended(name string, seconds float64) v1alpha1.StreamTransfer {
	transfer := newTransfer(name, "s", "node-b", seconds-1)
	transfer.Status = v1alpha1.StreamTransferStatus{
		Phase: v1alpha1.TransferSucceeded, Source: "node-a", AcceptedAt: at(seconds - .5), StoppedAt: at(seconds - .030), ClosedAt: at(seconds - .022),
		CommittedAt: at(seconds - .012), OpenedAt: at(seconds), Window: &metav1.Duration{Duration: 30 * time.Millisecond},
		Conditions: []metav1.Condition{
			conditionOf(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonSucceeded, "", seconds),
			conditionOf(v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonSucceeded, "", seconds),
		},
	}
	return transfer
}

// busy is a world in which everything happens.
func busy() *world {
	w := &world{}
	for i := range 240 {
		w.streams.Items = append(w.streams.Items, newStream(fmt.Sprintf("eu-%03d", i), fmt.Sprintf("node-%c", 'a'+i%3), served()))
	}
	stuck := newStream("payments", "node-c", conditionOf(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonCannotOpen,
		"Node node-c cannot open the stream: reading segment 17: access denied.", -95))
	stuck.Status.State = v1alpha1.StreamOpening
	fresh := newStream("returns", "", conditionOf(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNoEligibleNode,
		"No node is ready, schedulable and has a free slot.", -12))
	fresh.Status.State, fresh.Status.Epoch = "", 0
	w.streams.Items = append(w.streams.Items, stuck, fresh)
	w.streams.Items[0].Status.PendingTransfer = &v1alpha1.PendingTransfer{Name: "rebalance-1", UID: "rebalance-1", Source: "node-a", Target: "node-b", AcceptedAt: *at(-.8)}
	w.streams.Items[1].Status.State = v1alpha1.StreamOpening
	w.streams.Items[1].Status.LastTransfer = &v1alpha1.LastTransfer{
		Name: "drain-7", UID: "drain-7", Source: "node-c", Target: "node-b", AcceptedAt: *at(-.9), StoppedAt: at(-.88), ClosedAt: at(-.87), CommittedAt: *at(-.86),
	}
	ready := conditionOf(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonAsExpected, "", -3600)
	schedulable := conditionOf(v1alpha1.ConditionSchedulable, metav1.ConditionTrue, v1alpha1.ReasonAsExpected, "", -3600)
	for _, name := range []string{"node-a", "node-b", "node-c", "node-d"} {
		w.nodes.Items = append(w.nodes.Items, v1alpha1.StreamNode{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.StreamNodeSpec{Slots: 120},
			Status: v1alpha1.StreamNodeStatus{Conditions: []metav1.Condition{ready, schedulable}},
		})
	}
	end := metav1.NewTime(at(14).Time)
	w.nodes.Items[2].Status.Drain = &v1alpha1.DrainStatus{Total: 120, Moved: 39, Remaining: 81, Blocked: 1, EstimatedEnd: &end,
		Blockers: []v1alpha1.DrainBlocker{{Stream: "orders/payments", Reason: "CannotOpen", Message: "The stream is not open."}}}
	w.nodes.Items[2].Status.Conditions[1] = conditionOf(v1alpha1.ConditionSchedulable, metav1.ConditionFalse, v1alpha1.ReasonNodeCordoned, "The Kubernetes node is cordoned.", -60)
	w.nodes.Items[3].Status.Conditions[0] = conditionOf(v1alpha1.ConditionReady, metav1.ConditionUnknown, v1alpha1.ReasonLeaseExpired,
		"The agent has not renewed its lease for 41 s.", -41)
	waiting := newTransfer("to-node-d", "eu-005", "node-d", -71)
	waiting.Status.WaitingFor = "transfer drain-7, which takes the stream to node-b already"
	rebalancing, draining := newTransfer("rebalance-1", "eu-000", "node-b", -1), newTransfer("drain-7", "eu-001", "node-b", -1)
	rebalancing.Labels, draining.Labels = map[string]string{v1alpha1.LabelCause: v1alpha1.CauseRebalance}, map[string]string{v1alpha1.LabelCause: v1alpha1.CauseDrain}
	w.transfers.Items = append(w.transfers.Items, rebalancing, draining, waiting)
	for i := range 40 {
		w.transfers.Items = append(w.transfers.Items, ended(fmt.Sprintf("drain-done-%02d", i), float64(-2-i)))
	}
	failed := ended("by-hand", -3.5)
	failed.Status = v1alpha1.StreamTransferStatus{Phase: v1alpha1.TransferFailed, Conditions: []metav1.Condition{
		conditionOf(v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonTargetFull, "", -3.5),
		conditionOf(v1alpha1.ConditionReconciling, metav1.ConditionFalse, v1alpha1.ReasonTargetFull, "", -3.5),
	}}
	w.transfers.Items = append(w.transfers.Items, failed)
	w.rebalances.Items = append(w.rebalances.Items, v1alpha1.StreamRebalance{
		ObjectMeta: metav1.ObjectMeta{Namespace: "orders", Name: "nightly", CreationTimestamp: metav1.NewTime(at(-7200).Time)},
		Status: v1alpha1.StreamRebalanceStatus{Phase: v1alpha1.RebalanceExecuting, Planned: 36, Run: &v1alpha1.RebalanceRun{Settled: 11, Succeeded: 10, Skipped: 1},
			Conditions: []metav1.Condition{conditionOf(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonExecuting, "11 of 36 moves have ended, the rest takes about 9 s.", -3)}},
	})
	return w
}

// text is a page without its tags and with single spaces.
func text(page string) string {
	var b strings.Builder
	inside := false
	_, page, _ = strings.Cut(page, "<body>")
	for _, r := range page {
		switch {
		case r == '<':
			inside = true
			b.WriteByte(' ')
		case r == '>':
			inside = false
		case !inside:
			b.WriteRune(r)
		}
	}
	return html.UnescapeString(strings.Join(strings.Fields(b.String()), " "))
}
