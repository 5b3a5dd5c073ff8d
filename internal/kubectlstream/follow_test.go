package kubectlstream

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

// whileWatched has something happen to an object, one thing after the other, as soon as a command watches it.
func (w *world) whileWatched(t *testing.T, object client.Object, changes ...func()) {
	t.Helper()
	key := client.ObjectKeyFromObject(object)
	w.client = interceptor.NewClient(w.client, interceptor.Funcs{
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
			watching, err := c.Watch(ctx, list, options...)
			for _, change := range changes {
				if err := client.IgnoreNotFound(c.Get(ctx, key, object)); err != nil {
					t.Errorf("reading %s: %v", key, err)
				}
				change()
				if err := client.IgnoreNotFound(c.Status().Update(ctx, object)); err != nil {
					t.Errorf("changing %s: %v", key, err)
				}
			}
			changes = nil
			return watching, err
		},
	})
}

func TestTransferAndWait(t *testing.T) {
	ready := func(c condition.Condition) func(*v1alpha1.StreamTransfer) {
		return func(transfer *v1alpha1.StreamTransfer) {
			transfer.Status.Source, transfer.Status.Target, transfer.Status.Epoch = "node-a", "node-b", 7
			transfer.Status.Conditions = conditions(c)
			if c.Status == metav1.ConditionFalse {
				transfer.Status.Conditions = conditions(c, condition.True(v1alpha1.ConditionStalled, c.Reason, c.Message))
			}
		}
	}
	waits := func(transfer *v1alpha1.StreamTransfer) {
		transfer.Status.Phase, transfer.Status.WaitingFor = v1alpha1.TransferPending, "node node-a closes the stream"
	}
	const created, waiting = "streamtransfer/go created\n", "streamtransfer/go waits for: node node-a closes the stream\n"
	for name, c := range map[string]struct {
		steps []func(*v1alpha1.StreamTransfer)
		args  []string
		want  result
	}{
		"it goes well": {
			[]func(*v1alpha1.StreamTransfer){waits, ready(condition.True(v1alpha1.ConditionReady, v1alpha1.ReasonSucceeded, "It went."))}, nil,
			result{0, created + waiting + "stream/orders went from node-a to node-b, epoch 7 to 8\n", ""},
		},
		"it goes well, and a program reads that": {
			[]func(*v1alpha1.StreamTransfer){ready(condition.True(v1alpha1.ConditionReady, v1alpha1.ReasonSucceeded, "It went."))}, []string{"-o", "name"},
			result{0, "streamtransfer.streamshift.io/go\n", created},
		},
		"it fails": {
			[]func(*v1alpha1.StreamTransfer){ready(condition.False(v1alpha1.ConditionReady, v1alpha1.ReasonTargetFull, "Node node-b is full."))}, nil,
			result{1, created, "error: streamtransfer/go failed: Node node-b is full (TargetFull)\n"},
		},
		"somebody cancels it": {
			[]func(*v1alpha1.StreamTransfer){ready(condition.False(v1alpha1.ConditionReady, v1alpha1.ReasonCancelled, "Cancelled."))}, nil,
			result{1, created, "error: streamtransfer/go was cancelled: nothing moved\n"},
		},
		"it takes too long": {
			[]func(*v1alpha1.StreamTransfer){waits}, []string{"--timeout", "300ms"},
			result{3, created + waiting, "error: timed out after 300ms, and the transfer goes on: " +
				"streamtransfer/go waits for: node node-a closes the stream (kubectl stream cancel go withdraws it)\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, new(openStream("orders")), new(readyNode("node-b")))
			transfer := &v1alpha1.StreamTransfer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "go"}}
			var changes []func()
			for _, step := range c.steps {
				changes = append(changes, func() { step(transfer) })
			}
			w.whileWatched(t, transfer, changes...)
			got := w.run(t, append([]string{"transfer", "orders", "--to", "node-b", "--name", "go", "--wait"}, c.args...)...)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCancelAndWait(t *testing.T) {
	for name, c := range map[string]struct {
		ready condition.Condition
		want  result
	}{
		"in time": {
			condition.False(v1alpha1.ConditionReady, v1alpha1.ReasonCancelled, "Cancelled."),
			result{0, "streamtransfer/move is to be cancelled\nstreamtransfer/move was cancelled: nothing moved\n", ""},
		},
		"too late": {
			condition.True(v1alpha1.ConditionReady, v1alpha1.ReasonTooLateToCancel, "It was committed."),
			result{1, "streamtransfer/move is to be cancelled\n", "error: too late to cancel: stream/orders is on node-b at epoch 8: It was committed\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, fixture()...)
			transfer := transferOf()
			w.whileWatched(t, transfer, func() {
				transfer.Status.Epoch = 7
				transfer.Status.Conditions = conditions(c.ready, condition.True(v1alpha1.ConditionStalled, c.ready.Reason, ""))
			})
			if diff := cmp.Diff(c.want, w.run(t, "cancel", "orders", "--wait")); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if !transfer.Spec.Cancel {
				t.Error("spec.cancel is not set")
			}
		})
	}
}

func TestDrainIsFollowed(t *testing.T) {
	status := func(node v1alpha1.StreamNode, moved, total, blocked int32) v1alpha1.StreamNode {
		drain := node.Status.Drain
		drain.Moved, drain.Total, drain.Remaining, drain.Blocked = moved, total, total-moved, blocked
		if blocked > 0 {
			drain.Blockers = []v1alpha1.DrainBlocker{{Stream: "default/orders", Reason: "StayPolicy", Message: "Its drainPolicy is Stay."}}
		}
		return node
	}
	running := func(moved int32) v1alpha1.StreamNode { return status(drainingNode("node-a"), moved, 2, 0) }
	done := status(drainingNode("node-a", condition.True(v1alpha1.ConditionDrained, v1alpha1.ReasonEmpty, "")), 2, 2, 0)
	blocked := status(drainingNode("node-a", condition.True(v1alpha1.ConditionDrainBlocked, "StayPolicy", "")), 1, 2, 1)
	gone := readyNode("node-a")
	gone.Status.Conditions = conditions(condition.Unknown(v1alpha1.ConditionReady, v1alpha1.ReasonLeaseExpired, "Its lease ran out."))
	const cordoned, stays = "node/node-a cordoned\n", "  default/orders stays: StayPolicy: Its drainPolicy is Stay\n"
	const uncordon = "kubectl stream uncordon node-a ends the drain\n"
	for name, c := range map[string]struct {
		owned client.Object
		nodes []v1alpha1.StreamNode
		args  []string
		want  result
	}{
		"all streams leave": {
			nil, []v1alpha1.StreamNode{running(0), running(1), done}, nil,
			result{0, cordoned + "0 of 2 streams have left node-a\n1 of 2 streams have left node-a\n2 of 2 streams have left node-a\n" +
				"node/node-a drained: it holds no stream; 2 have left it\n", ""},
		},
		"a status of before says that the node is drained": {
			new(openStream("orders")), []v1alpha1.StreamNode{done, running(1)}, []string{"--timeout", "300ms"},
			result{3, cordoned + "1 of 2 streams have left node-a\n",
				"error: timed out after 300ms, and the drain goes on: 1 of 2 streams have left node-a\n" + uncordon},
		},
		"one stream stays": {
			nil, []v1alpha1.StreamNode{running(0), running(1), blocked}, nil,
			result{2, cordoned + "0 of 2 streams have left node-a\n1 of 2 streams have left node-a\n1 of 2 streams have left node-a, 1 cannot\n" + stays,
				"error: node-a is not drained, and stays cordoned: 1 of 2 streams have left node-a, 1 cannot\n" + stays + uncordon},
		},
		"one stream stays, and that is waited for": {
			nil, []v1alpha1.StreamNode{blocked}, []string{"--blocked-timeout", "0", "--timeout", "300ms"},
			result{3, cordoned + "1 of 2 streams have left node-a, 1 cannot\n" + stays,
				"error: timed out after 300ms, and the drain goes on: 1 of 2 streams have left node-a, 1 cannot\n" + stays + uncordon},
		},
		"the node is gone": {
			nil, []v1alpha1.StreamNode{gone}, []string{"--timeout", "300ms"},
			result{3, cordoned + "node-a is not ready (LeaseExpired), so its streams cannot be closed there: Its lease ran out. " +
				"They are taken over, or wait until it is back\n",
				"error: timed out after 300ms, and the drain goes on: the manager has not begun with it (kubectl stream uncordon node-a ends it)\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{fixture()[4], &c.nodes[0]}
			if c.owned != nil {
				objects = append(objects, c.owned)
			}
			w := newWorld(t, objects...)
			clock := noon
			w.now = func() time.Time { clock = clock.Add(5 * time.Second); return clock }
			node := new(readyNode("node-a"))
			var changes []func()
			for i := 1; i < len(c.nodes); i++ {
				changes = append(changes, func() { node.Status = c.nodes[i].Status })
			}
			w.whileWatched(t, node, changes...)
			if diff := cmp.Diff(c.want, w.run(t, append([]string{"drain", "node-a"}, c.args...)...)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADrainGoesOnWhereItsFollowerIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	w := newWorld(t, fixture()...)
	w.client = interceptor.NewClient(w.client, interceptor.Funcs{
		Watch: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
			interrupt()
			return watch.NewFake(), nil
		},
	})
	want := result{130, "node/node-a cordoned\n",
		"error: interrupted, and the drain goes on: the manager has not begun with it (kubectl stream uncordon node-a ends it)\n"}
	if diff := cmp.Diff(want, w.runFor(ctx, "drain", "node-a")); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestUncordonTellsWhatElseKeepsStreamsOff(t *testing.T) {
	tainted := drainingNode("node-a", condition.True(v1alpha1.ConditionDraining, v1alpha1.ReasonTainted, "It has taint x."))
	full := readyNode("node-a")
	full.Status.Conditions = conditions(condition.False(v1alpha1.ConditionSchedulable, v1alpha1.ReasonNodeNotReady, "The Kubernetes node is not ready."))
	unseen := readyNode("node-a")
	unseen.Status.Conditions = nil
	for name, c := range map[string]struct {
		node v1alpha1.StreamNode
		want result
	}{
		"a taint": {tainted, result{2, "node/node-a already uncordoned\n",
			"error: node-a is uncordoned, but its streams still leave: It has taint x. (Tainted)\n"}},
		"another reason": {full, result{2, "node/node-a already uncordoned\n",
			"error: node-a is uncordoned, but takes no streams: The Kubernetes node is not ready. (NodeNotReady)\n"}},
		"nobody looks": {unseen, result{3, "node/node-a already uncordoned\n",
			"error: node-a is uncordoned, but the manager has not looked at it within 100ms: does it run?\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, fixture()[4], &c.node)
			if diff := cmp.Diff(c.want, w.run(t, "uncordon", "node-a", "--timeout", "100ms")); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

// An API server that is away for a moment, or ends a watch, is asked again; one that refuses is not.
func TestFollowingOutlivesTheAPIServer(t *testing.T) {
	refused := &apierrors.StatusError{ErrStatus: metav1.Status{Message: "you may not", Reason: metav1.StatusReasonForbidden}}
	for name, c := range map[string]struct {
		failures []error
		want     string
	}{
		"two watches that end":    {[]error{nil, nil}, ""},
		"one that cannot be made": {[]error{errors.New("connection refused")}, ""},
		"refused":                 {[]error{nil, refused}, "you may not"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, new(readyNode("node-a")))
			watches := 0
			w.client = interceptor.NewClient(w.client, interceptor.Funcs{
				Watch: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
					watches++
					ends := watch.NewFake()
					ends.Stop()
					return ends, c.failures[watches-1]
				},
			})
			f := &followed[*v1alpha1.StreamNode]{
				client: w.client, key: client.ObjectKey{Name: "node-a"}, empty: func() *v1alpha1.StreamNode { return &v1alpha1.StreamNode{} },
				list: &v1alpha1.StreamNodeList{}, look: func(*v1alpha1.StreamNode, bool) bool { return watches == len(c.failures) },
			}
			err := f.follow(t.Context())
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
