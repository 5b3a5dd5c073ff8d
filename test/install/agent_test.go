package install

import (
	"context"
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/handoff"
	"github.com/streamshift/streamshift/test/localcluster"
)

// attempt is one write that must be refused.
type attempt func(context.Context, client.Client) error

// stepsOn is an attempt to take a step on a stream's register.
func stepsOn(stream string, steps ...step) attempt {
	return func(ctx context.Context, c client.Client) error { return take(ctx, c, stream, steps...) }
}

// creates is an attempt to create an object.
func creates(object func() client.Object) attempt {
	return func(ctx context.Context, c client.Client) error { return c.Create(ctx, object()) }
}

// deletes is an attempt to delete an object.
func deletes(object client.Object) attempt {
	return func(ctx context.Context, c client.Client) error {
		return c.Delete(ctx, object.DeepCopyObject().(client.Object)) //nolint:forcetypeassert // a copy of an object is one
	}
}

// merges is an attempt to change an object by a merge patch.
func merges(object client.Object, change map[string]any) attempt {
	return func(ctx context.Context, c client.Client) error {
		patch, err := json.Marshal(change)
		if err != nil {
			return err //nolint:wrapcheck // the spec shows it
		}
		//nolint:forcetypeassert // a copy of an object is one
		return c.Patch(ctx, object.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, patch))
	}
}

// mergesStatus is an attempt to change the status of a stream by a merge patch.
func mergesStatus(name string, status map[string]any) attempt {
	return func(ctx context.Context, c client.Client) error {
		patch, err := json.Marshal(map[string]any{"status": status})
		if err != nil {
			return err //nolint:wrapcheck // the spec shows it
		}
		return c.Status().Patch(ctx, streamNamed(name), client.RawPatch(types.MergePatchType, patch))
	}
}

// changedAt is a condition with another time than the one that it has.
func changedAt(conditionType, time string) map[string]any {
	changed := condition(conditionType, "False")
	changed["lastTransitionTime"] = time
	return changed
}

// tells is an attempt to write a part of a node's status.
func tells(node string, status map[string]any) attempt {
	return func(ctx context.Context, c client.Client) error {
		return c.Status().Apply(ctx, statusOf(node, status), client.FieldOwner("streamshift-node"), client.ForceOwnership)
	}
}

// renews is an attempt to renew a lease.
func renews(node string) attempt {
	return func(ctx context.Context, c client.Client) error {
		lease := leaseOf(node)
		if err := api.Get(ctx, client.ObjectKeyFromObject(lease), lease); err != nil {
			return err //nolint:wrapcheck // the spec shows it
		}
		lease.Spec.RenewTime = new(now())
		return c.Update(ctx, lease)
	}
}

func streamNamed(name string) *v1alpha1.Stream {
	return &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// clientStream is what an agent makes for a client that creates a stream by HTTP.
func clientStream(name string) *v1alpha1.Stream {
	stream := streamNamed(name)
	stream.Finalizers = []string{v1alpha1.FinalizerLog}
	stream.Spec = v1alpha1.StreamSpec{Creation: v1alpha1.CreationByClient, ContentType: "text/plain"}
	return stream
}

func nodeNamed(name string) *v1alpha1.StreamNode {
	return &v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.StreamNodeSpec{Slots: 10}}
}

// makeWorld makes two nodes and streams in every situation that an agent can meet.
func makeWorld(ctx context.Context) {
	makeNode(ctx, "node-a")
	makeNode(ctx, "node-b")
	makeStream(ctx, "unplaced")
	makeStream(ctx, "own", placeOn("node-a"), opened)
	makeStream(ctx, "foreign", placeOn("node-b"), opened)
	makeStream(ctx, "foreign-opening", placeOn("node-b"))
	makeStream(ctx, "leaving", placeOn("node-a"), opened, acceptTo("node-b", true))
	makeStream(ctx, "coming", placeOn("node-b"), opened, acceptTo("node-a", true))
	makeStream(ctx, "moved", placeOn("node-b"), opened, acceptTo("node-a", false), complete, opened)
}

// seen returns the version of every object that an agent could have changed, and of every one that it could have made.
func seen(ctx context.Context) map[string]string {
	GinkgoHelper()
	versions := map[string]string{}
	lists := []client.ObjectList{&v1alpha1.StreamList{}, &v1alpha1.StreamNodeList{}, &v1alpha1.StreamTransferList{}}
	for _, list := range lists {
		Expect(api.List(ctx, list)).To(Succeed())
		encoded, err := json.Marshal(list)
		Expect(err).NotTo(HaveOccurred())
		var items struct {
			Items []metav1.PartialObjectMetadata `json:"items"`
		}
		Expect(json.Unmarshal(encoded, &items)).To(Succeed())
		for i := range items.Items {
			versions[string(items.Items[i].UID)+" "+items.Items[i].Name] = items.Items[i].ResourceVersion
		}
	}
	return versions
}

var hostile = map[string]attempt{
	"opens a stream of another node":                    stepsOn("foreign-opening", opened),
	"says that another node cannot open its stream":     stepsOn("foreign-opening", cannotOpen),
	"closes a stream of another node":                   stepsOn("foreign", closed),
	"reopens a stream of another node":                  stepsOn("foreign", reopen),
	"completes a transfer that is to bring it a stream": stepsOn("coming", complete),
	"takes a stream over that is to come":               stepsOn("coming", takeOver),
	"takes a stream of its own over for another node":   stepsOn("leaving", takeOver),
	"places a stream on itself":                         stepsOn("unplaced", placeOn("node-a")),
	"places a stream on another node":                   stepsOn("unplaced", placeOn("node-b")),
	"accepts a transfer away from itself":               stepsOn("own", acceptTo("node-b", false)),
	"accepts a transfer to itself":                      stepsOn("foreign", acceptTo("node-a", true)),
	"withdraws the transfer of its own stream":          stepsOn("leaving", withdraw),
	"withdraws the transfer of another node's stream":   stepsOn("coming", withdraw),
	"rewrites who owned its stream before":              mergesStatus("moved", map[string]any{"lastTransfer": map[string]any{"source": "node-c"}}),
	"rewrites when its stream came":                     mergesStatus("moved", map[string]any{"lastTransfer": map[string]any{"committedAt": "2026-01-01T12:00:00.000000Z"}}),
	"deletes a stream of another node":                  deletes(streamNamed("foreign")),
	"deletes a stream that is to come":                  deletes(streamNamed("coming")),
	"deletes a stream that nobody owns yet":             deletes(streamNamed("unplaced")),
	"changes the spec of its own stream":                merges(streamNamed("own"), map[string]any{"spec": map[string]any{"nodeName": "node-a"}}),
	"changes the spec of another node's stream":         merges(streamNamed("foreign"), map[string]any{"spec": map[string]any{"nodeName": "node-a"}}),
	"removes the finalizer of a living stream":          merges(streamNamed("own"), map[string]any{"metadata": map[string]any{"finalizers": nil}}),
	"labels a stream":                                   merges(streamNamed("own"), map[string]any{"metadata": map[string]any{"labels": map[string]any{"a": "b"}}}),
	"creates a stream on itself": creates(func() client.Object {
		stream := clientStream("lured")
		stream.Spec.NodeName = "node-a"
		return stream
	}),
	"creates a stream that keeps its objects for ever": creates(func() client.Object {
		stream := clientStream("kept")
		stream.Spec.DeletionPolicy = v1alpha1.DeletionRetain
		return stream
	}),
	"creates a stream that no controller can delete": creates(func() client.Object {
		stream := clientStream("stuck")
		stream.Finalizers = append(stream.Finalizers, "example.com/never")
		return stream
	}),
	"registers a node that is not its own":        creates(func() client.Object { return nodeNamed("node-c") }),
	"says that another node stops":                tells("node-b", map[string]any{"stopping": true}),
	"says that another node serves at an address": tells("node-b", map[string]any{"address": "http://10.0.0.66:4437"}),
	"says of itself that it is ready":             tells("node-a", map[string]any{"conditions": []any{condition(v1alpha1.ConditionReady, "False")}}),
	"says that it owns fewer streams":             tells("node-a", map[string]any{"streams": int64(0)}),
	// The API server's own formats take these; the components' decoder does not, and would read no list with one of them.
	"writes a time of its stream that nobody can read":      mergesStatus("own", map[string]any{"openedAt": "2030-01-31T12:00:00Z"}),
	"writes a condition of its stream that nobody can read": mergesStatus("own", map[string]any{"conditions": []any{changedAt("Ready", "2030-01-31t12:00:00z")}}),
	"writes a time of its node that nobody can read":        tells("node-a", map[string]any{"startedAt": "2030-01-31T12:00:00+99:99"}),
	"writes a condition of its node that nobody can read": tells("node-a", map[string]any{
		"conditions": []any{changedAt(v1alpha1.ConditionObjectStoreReachable, "2030-01-31t12:00:00z")},
	}),
	"raises its own slots":              merges(nodeNamed("node-a"), map[string]any{"spec": map[string]any{"slots": 1000}}),
	"deletes another node":              deletes(nodeNamed("node-b")),
	"renews the lease of another node":  renews("node-b"),
	"makes a lease of another name":     creates(func() client.Object { return leaseOf("node-c") }),
	"deletes the lease of another node": deletes(leaseOf("node-b")),
	"makes a transfer": creates(func() client.Object {
		return &v1alpha1.StreamTransfer{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "mine"}, Spec: v1alpha1.StreamTransferSpec{Stream: "foreign", Target: "node-a"},
		}
	}),
}

// beyondTheRole is how many of these the agent's role refuses before any policy is asked: those on the specs of nodes, on the
// deletion of nodes and leases, and on transfers.
const beyondTheRole = 4

func cannotOpen(s *v1alpha1.Stream) handoff.Step { return handoff.CannotOpen(s, "of spite", now()) }

var _ = Describe("An agent", func() {
	BeforeEach(func(ctx SpecContext) { makeWorld(ctx) })

	It("that lies gets nowhere, whatever it tries", func(ctx SpecContext) {
		before := seen(ctx)
		agent := as(ctx, localcluster.NodeAccount, "node-a")
		byPolicy := 0
		for name, try := range hostile {
			err := try(ctx, agent)
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "an agent that %s: %v", name, err)
			if strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
				byPolicy++
			}
		}
		Expect(byPolicy).To(Equal(len(hostile)-beyondTheRole), "attempts that its role would have let through")
		Expect(seen(ctx)).To(Equal(before))
	})

	It("whose token is bound to no node may write nothing", func(ctx SpecContext) {
		before := seen(ctx)
		unbound := as(ctx, localcluster.NodeAccount, "")
		for name, try := range map[string]attempt{
			"closes a stream":    stepsOn("own", closed),
			"creates a stream":   creates(func() client.Object { return clientStream("new") }),
			"deletes a stream":   deletes(streamNamed("own")),
			"registers a node":   creates(func() client.Object { return nodeNamed("node-c") }),
			"tells of a node":    tells("node-a", map[string]any{"stopping": true}),
			"renews a lease":     renews("node-a"),
			"registers no node":  creates(func() client.Object { return &v1alpha1.StreamNode{ObjectMeta: metav1.ObjectMeta{GenerateName: "x"}} }),
			"completes transfer": stepsOn("leaving", complete),
		} {
			err := try(ctx, unbound)
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "an agent without a node that %s: %v", name, err)
		}
		Expect(seen(ctx)).To(Equal(before))
	})

	It("does all that its part of the handoff needs", func(ctx SpecContext) {
		agent := as(ctx, localcluster.NodeAccount, "node-a")
		for _, legal := range []attempt{
			tells("node-a", map[string]any{
				"address": "http://10.0.0.1:4437", "instance": "run-2", "holdsSessions": true,
				"conditions": []any{condition(v1alpha1.ConditionObjectStoreReachable, "False")},
			}),
			renews("node-a"),
			stepsOn("own", closed, reopen, cannotOpen, opened),
			stepsOn("leaving", closed, complete),
			creates(func() client.Object { return clientStream("asked-for") }),
			deletes(streamNamed("own")),
			merges(streamNamed("own"), map[string]any{"metadata": map[string]any{"finalizers": nil}}),
		} {
			Expect(legal(ctx, agent)).To(Succeed())
		}
		By("a node of its own that is not registered yet, and its lease")
		Expect(api.Delete(ctx, leaseOf("node-b"))).To(Succeed())
		Expect(api.Delete(ctx, nodeNamed("node-b"))).To(Succeed())
		other := as(ctx, localcluster.NodeAccount, "node-b")
		Expect(other.Create(ctx, nodeNamed("node-b"))).To(Succeed())
		Expect(other.Create(ctx, leaseOf("node-b"))).To(Succeed())
		Expect(api.Delete(ctx, clientStream("asked-for"))).To(Succeed())
		Expect(merges(streamNamed("asked-for"), map[string]any{"metadata": map[string]any{"finalizers": nil}})(ctx, api)).To(Succeed())
	})
})

var _ = Describe("The other components", func() {
	BeforeEach(func(ctx SpecContext) { makeWorld(ctx) })

	It("take the manager's steps, and none of an owner's", func(ctx SpecContext) {
		manager := as(ctx, localcluster.ManagerAccount, "")
		for name, try := range map[string]attempt{
			"opens a stream":       stepsOn("foreign-opening", opened),
			"closes a stream":      stepsOn("own", closed),
			"reopens a stream":     stepsOn("own", reopen),
			"completes a transfer": stepsOn("leaving", complete),
			"rewrites a transfer":  mergesStatus("moved", map[string]any{"lastTransfer": map[string]any{"source": "node-c"}}),
		} {
			err := try(ctx, manager)
			Expect(apierrors.IsForbidden(err)).To(BeTrue(), "a manager that %s: %v", name, err)
		}
		for _, legal := range []attempt{
			stepsOn("unplaced", placeOn("node-a")),
			stepsOn("own", acceptTo("node-b", false), withdraw),
			stepsOn("leaving", takeOver),
		} {
			Expect(legal(ctx, manager)).To(Succeed())
		}
	})

	It("write nothing where they are gateways or guards", func(ctx SpecContext) {
		before := seen(ctx)
		for _, account := range []string{localcluster.GatewayAccount, "streamshift-guard"} {
			other := as(ctx, account, "")
			for name, try := range hostile {
				err := try(ctx, other)
				Expect(apierrors.IsForbidden(err)).To(BeTrue(), "%s that %s: %v", account, name, err)
			}
		}
		Expect(seen(ctx)).To(Equal(before))
	})

	It("are the only ones that write a register, whatever role somebody has", func(ctx SpecContext) {
		mallory := as(ctx, "mallory", "")
		everything := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "mallory"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: system, Name: "mallory"}},
		}
		Expect(api.Create(ctx, everything)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(api.Delete(ctx, everything)).To(Succeed()) })
		Eventually(ctx, func() error { return mallory.Get(ctx, client.ObjectKey{Name: "node-a"}, &v1alpha1.StreamNode{}) }).Should(Succeed())
		for name, try := range map[string]attempt{
			"places a stream":     stepsOn("unplaced", placeOn("node-a")),
			"accepts a transfer":  stepsOn("own", acceptTo("node-b", true)),
			"withdraws one":       stepsOn("leaving", withdraw),
			"takes a stream over": stepsOn("leaving", takeOver),
			"closes a stream":     stepsOn("own", closed),
		} {
			err := try(ctx, mallory)
			Expect(err).To(MatchError(ContainSubstring("only Streamshift's manager and agents write the register")), name)
		}
	})
})
