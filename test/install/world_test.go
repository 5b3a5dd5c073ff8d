package install

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/register"
	"github.com/streamshift/streamshift/internal/handoff"
)

func now() metav1.MicroTime { return metav1.NewMicroTime(time.Now()) }

// step makes a step from the register as it is.
type step func(*v1alpha1.Stream) handoff.Step

func placeOn(node string) step {
	return func(s *v1alpha1.Stream) handoff.Step { return handoff.Place(s, node, now()) }
}

func acceptTo(target string, force bool) step {
	return func(s *v1alpha1.Stream) handoff.Step {
		return handoff.Accept(s, &v1alpha1.StreamTransfer{
			ObjectMeta: metav1.ObjectMeta{Name: "to-" + target, UID: types.UID("uid-of-" + target)},
			Spec:       v1alpha1.StreamTransferSpec{Stream: s.Name, Target: target, Force: force},
		}, now())
	}
}

func opened(s *v1alpha1.Stream) handoff.Step   { return handoff.Opened(s, now(), nil) }
func closed(s *v1alpha1.Stream) handoff.Step   { return handoff.RecordClosed(s, 3, now()) }
func reopen(s *v1alpha1.Stream) handoff.Step   { return handoff.ReopenAt(s, s.Status.Epoch+1, now()) }
func withdraw(s *v1alpha1.Stream) handoff.Step { return handoff.Withdraw(s, now()) }
func takeOver(s *v1alpha1.Stream) handoff.Step { return handoff.TakeOver(s, now()) }
func complete(s *v1alpha1.Stream) handoff.Step {
	return handoff.CompleteTransfer(s, handoff.Closing{}, now())
}

// take has the client take the steps, one after the other.
func take(ctx context.Context, c client.Client, name string, steps ...step) error {
	for _, next := range steps {
		stream := &v1alpha1.Stream{}
		if err := api.Get(ctx, client.ObjectKey{Namespace: "default", Name: name}, stream); err != nil {
			return err //nolint:wrapcheck // the spec shows it
		}
		if _, err := register.Propose(ctx, c, stream, next(stream)); err != nil {
			return err //nolint:wrapcheck // the spec looks at what the API server said
		}
	}
	return nil
}

// makeStream makes a stream whose register has gone through the steps, as an administrator.
func makeStream(ctx context.Context, name string, steps ...step) {
	GinkgoHelper()
	stream := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Finalizers: []string{v1alpha1.FinalizerLog}}}
	Expect(api.Create(ctx, stream)).To(Succeed())
	Expect(take(ctx, api, name, steps...)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(api.Delete(ctx, stream))).To(Succeed())
		finalizers := []byte(`{"metadata":{"finalizers":null}}`)
		Expect(client.IgnoreNotFound(api.Patch(ctx, stream, client.RawPatch(types.MergePatchType, finalizers)))).To(Succeed())
	})
}

// makeNode registers a node that the manager has judged, with its lease, as an administrator.
func makeNode(ctx context.Context, name string) {
	GinkgoHelper()
	node := &v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.StreamNodeSpec{Slots: 10}}
	Expect(api.Create(ctx, node)).To(Succeed())
	judged := statusOf(name, map[string]any{"streams": int64(2), "conditions": []any{condition(v1alpha1.ConditionReady, "True")}})
	Expect(api.Status().Apply(ctx, judged, client.FieldOwner("streamshift-manager"))).To(Succeed())
	lease := leaseOf(name)
	Expect(api.Create(ctx, lease)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(api.Delete(ctx, node)).To(Succeed())
		Expect(api.Delete(ctx, lease)).To(Succeed())
	})
}

func leaseOf(node string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.NodeLeaseNamespace, Name: node},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("run-1"), LeaseDurationSeconds: new(int32(15)), RenewTime: new(now())},
	}
}

func condition(kind, status string) map[string]any {
	return map[string]any{
		"type": kind, "status": status, "reason": "AsExpected", "message": "It is said.", "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}
}

func statusOf(node string, status map[string]any) runtime.ApplyConfiguration {
	return client.ApplyConfigurationFromUnstructured(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "StreamNode", "metadata": map[string]any{"name": node}, "status": status,
	}})
}
