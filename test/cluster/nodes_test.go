//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

const (
	nodeLimit = 5 * time.Minute
	// heldFor is for how long a drain is watched to be held.
	heldFor = 12 * time.Second
)

// losingNodes is what becomes of streams whose node is drained or dies.
func losingNodes() {
	It("holds kubectl drain until the streams have left, and no client sees it", func(ctx SpecContext) {
		const node = "n2"
		clients := startClients(ctx, createOn(ctx, node, "drained", 3)...)
		held := createStream(ctx, "held", v1alpha1.StreamSpec{NodeName: node, DrainPolicy: v1alpha1.DrainStay})
		guard := client.ObjectKey{Namespace: system, Name: "streamshift-guard-" + node}
		kubectl(ctx, "-n", system, "wait", "--for=condition=Ready", "pod/"+guard.Name, "--timeout="+patience.String())

		output := &strings.Builder{}
		drain := exec.CommandContext(ctx, cluster.Kubectl(), "--kubeconfig", cluster.Kubeconfig(),
			"drain", node, "--ignore-daemonsets", "--timeout="+patience.String())
		drain.Stdout, drain.Stderr = output, output
		Expect(drain.Start()).To(Succeed())
		ended := make(chan error, 1)
		go func() { ended <- drain.Wait() }()
		DeferCleanup(func(ctx SpecContext) { kubectl(ctx, "uncordon", node) })
		// All streams leave but the one that is told to stay, for which the budget holds the guard.
		Eventually(ctx, func() []string { return ownedBy(ctx, node) }).WithTimeout(patience).WithPolling(200 * time.Millisecond).Should(ConsistOf("held"))
		Consistently(ended).WithTimeout(heldFor).WithPolling(200 * time.Millisecond).ShouldNot(Receive())
		Expect(api.Get(ctx, guard, &policyv1.PodDisruptionBudget{})).To(Succeed())

		Expect(api.Patch(ctx, held, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"drainPolicy":"Move"}}`)))).To(Succeed())
		began := time.Now()
		Eventually(ended).WithTimeout(patience).Should(Receive(BeNil()), "%s", output)
		AddReportEntry("drain", fmt.Sprintf("let go %v after the last stream was let go\n%s", time.Since(began).Round(100*time.Millisecond), output))
		Expect(output.String()).To(ContainSubstring("disruption budget"))
		Expect(ownedBy(ctx, node)).To(BeEmpty())
		clients.expectExact(ctx)
	}, SpecTimeout(nodeLimit))

	It("takes streams over from a node that dies, loses nothing, and has the node back when it starts", func(ctx SpecContext) {
		const node = "n3"
		names := createOn(ctx, node, "survives", 3)
		for _, component := range []string{"manager", "gateway"} {
			Expect(nodesOf(ctx, component)).To(HaveLen(2), "no node has every %s", component)
		}
		clients := startClients(ctx, names...)
		Expect(cluster.Kill(ctx, node)).To(Succeed())
		alive := false
		DeferCleanup(func(ctx SpecContext) {
			if !alive { // the specs after this one count on it
				Expect(cluster.Boot(ctx, node)).To(Succeed())
			}
		})
		began := time.Now()
		Eventually(ctx, func() []string { return ownedBy(ctx, node) }).WithTimeout(patience).WithPolling(200 * time.Millisecond).Should(BeEmpty())
		clients.awaitAppends(ctx, 5)
		AddReportEntry("takeover", fmt.Sprintf("every stream is served %v after its node died", time.Since(began).Round(100*time.Millisecond)))

		began = time.Now()
		Expect(cluster.Boot(ctx, node)).To(Succeed())
		alive = true
		kubectl(ctx, "wait", "--for=condition=Ready", "streamnode/"+node, "--timeout="+patience.String())
		AddReportEntry("boot", fmt.Sprintf("the node serves again %v after its start", time.Since(began).Round(100*time.Millisecond)))
		awaitRollout(ctx)
		transfer(ctx, names[0], node, "home")
		clients.expectNothingLost(ctx)
	}, SpecTimeout(nodeLimit))
}

// createOn makes streams and has the node own them.
func createOn(ctx context.Context, node, name string, count int) []string {
	GinkgoHelper()
	var names []string
	for i := range count {
		stream := createStream(ctx, fmt.Sprintf("%s-%d", name, i), v1alpha1.StreamSpec{})
		if stream.Status.Node != node {
			transfer(ctx, stream.Name, node, stream.Name+"-there")
		}
		names = append(names, stream.Name)
	}
	return names
}

// rolledOut is what becomes of clients while a component is replaced, pod by pod.
func rolledOut() {
	for _, workload := range []string{"daemonset/streamshift-node", "deployment/streamshift-manager", "deployment/streamshift-gateway"} {
		It("no client sees "+workload+" be replaced", func(ctx SpecContext) {
			component := workload[strings.LastIndex(workload, "-")+1:]
			var names []string
			for _, node := range []string{"n1", "n2", "n3"} {
				names = append(names, createOn(ctx, node, "rolled-"+component+"-"+node, 1)...)
			}
			clients := startClients(ctx, names...)
			before := podNames(ctx, component)
			began := time.Now()
			kubectl(ctx, "-n", system, "rollout", "restart", workload)
			kubectl(ctx, "-n", system, "rollout", "status", workload, "--timeout="+nodeLimit.String())
			// The last pod that was replaced may still be ending.
			Eventually(ctx, func() []string { return podNames(ctx, component) }).WithTimeout(patience).WithPolling(200 * time.Millisecond).
				Should(And(HaveLen(len(before)), Not(ContainElements(before))))
			AddReportEntry("rollout", fmt.Sprintf("%d pods in %v", len(before), time.Since(began).Round(100*time.Millisecond)))
			clients.expectExact(ctx)
		}, SpecTimeout(nodeLimit))
	}
}

// nodesOf are the nodes that have a pod of the component that is not ending.
func nodesOf(ctx context.Context, component string) map[string]bool {
	GinkgoHelper()
	pods := &corev1.PodList{}
	Expect(api.List(ctx, pods, client.InNamespace(system), client.MatchingLabels{"app.kubernetes.io/component": component})).To(Succeed())
	nodes := map[string]bool{}
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp == nil {
			nodes[pods.Items[i].Spec.NodeName] = true
		}
	}
	return nodes
}

// podNames are the names of the component's pods, guards aside, those that are ending included.
func podNames(ctx context.Context, component string) []string {
	GinkgoHelper()
	pods := &corev1.PodList{}
	Expect(api.List(ctx, pods, client.InNamespace(system), client.MatchingLabels{"app.kubernetes.io/component": component})).To(Succeed())
	var names []string
	for i := range pods.Items {
		names = append(names, pods.Items[i].Name)
	}
	return names
}
