package e2e

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/localcluster"
)

// In these specs the real kubectl drains a node of the real API server. What this cluster lacks is played: a kubelet, which
// says that a guard is ready and ends it, and the controller that counts what a budget allows.
var _ = Describe("kubectl drain", func() {
	const systemNamespace = localcluster.SystemNamespace
	guardOf := func(node string) client.ObjectKey {
		return client.ObjectKey{Namespace: systemNamespace, Name: "streamshift-guard-" + node}
	}
	awaitGuard := func(ctx context.Context, node string) *corev1.Pod {
		GinkgoHelper()
		pod := &corev1.Pod{}
		Eventually(ctx, func() error { return cluster.Client().Get(ctx, guardOf(node), pod) }).WithTimeout(patience).WithPolling(20 * time.Millisecond).Should(Succeed())
		return pod
	}
	// playKubelet reports the guard as ready.
	playKubelet := func(ctx context.Context, pod *corev1.Pod) {
		GinkgoHelper()
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		Expect(cluster.Client().Status().Update(ctx, pod)).To(Succeed())
	}
	// endGuard does what a kubelet does with a pod that is being deleted.
	endGuard := func(ctx context.Context, node string) {
		pod := &corev1.Pod{}
		if err := cluster.Client().Get(ctx, guardOf(node), pod); err == nil && pod.DeletionTimestamp != nil {
			Expect(client.IgnoreNotFound(cluster.Client().Delete(ctx, pod, client.GracePeriodSeconds(0)))).To(Succeed())
		}
	}
	guardNodes := func(ctx context.Context, mode string) {
		GinkgoHelper()
		Expect(streamshift.Manager.Reconfigure(ctx, "--drain-mode="+mode, "--guard-image=example.invalid/streamshift/manager:test")).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(streamshift.Manager.Reconfigure(ctx)).To(Succeed())
			// Guards on other nodes that got a stream go with the mode; those of these nodes are ended here, as by a kubelet.
			for _, node := range nodes {
				_, err := cluster.Kubectl(ctx, "-n", systemNamespace, "delete", "pod", guardOf(node).Name, "--ignore-not-found", "--grace-period=0", "--force")
				Expect(err).NotTo(HaveOccurred())
			}
		})
	}

	It("is refused while streams are on the node, and ends by itself when they have left", func(ctx SpecContext) {
		guardNodes(ctx, "Strict")
		node := nodes[0]
		stays := &v1alpha1.Stream{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "held-back"},
			Spec:       v1alpha1.StreamSpec{ContentType: "application/json", NodeName: node, DrainPolicy: v1alpha1.DrainStay},
		}
		createStream(ctx, stays)
		run := startLoad(ctx, stays.Name)
		pod := awaitGuard(ctx, node)
		playKubelet(ctx, pod)
		budget := &policyv1.PodDisruptionBudget{}
		Expect(cluster.Client().Get(ctx, guardOf(node), budget)).To(Succeed(), "the budget is there before the pod")
		budget.Status = policyv1.PodDisruptionBudgetStatus{ObservedGeneration: budget.Generation, CurrentHealthy: 1, DesiredHealthy: 1, ExpectedPods: 1}
		Expect(cluster.Client().Status().Update(ctx, budget)).To(Succeed())

		output := &strings.Builder{}
		drained := make(chan error, 1)
		command := kubectlDrain(ctx, node, output)
		Expect(command.Start()).To(Succeed())
		go func() { drained <- command.Wait() }()
		DeferCleanup(func(ctx SpecContext) { uncordon(ctx, node) })
		// The stream stays, as its policy says, and the drain waits: the eviction is refused, again and again.
		Consistently(drained).WithTimeout(7 * time.Second).WithPolling(100 * time.Millisecond).ShouldNot(Receive())
		Expect(cluster.Client().Get(ctx, guardOf(node), pod)).To(Succeed())
		Expect(pod.DeletionTimestamp).To(BeNil())

		stays.Spec.DrainPolicy = v1alpha1.DrainMove
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"drainPolicy":"Move"}}`))
		Expect(cluster.Client().Patch(ctx, stays, patch)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			endGuard(ctx, node)
			g.Expect(drained).To(Receive(BeNil()), "%s", output)
		}).WithTimeout(patience).WithPolling(100 * time.Millisecond).Should(Succeed())
		Expect(output.String()).To(ContainSubstring("disruption budget"))
		Expect(ownedBy(ctx, node)).To(BeEmpty())
		Expect(apierrors.IsNotFound(cluster.Client().Get(ctx, guardOf(node), budget))).To(BeTrue(), "the budget is gone")
		awaitAppends(ctx, run, 10)
		tally := stopLoad(ctx, run)
		Expect(tally.Clean()).To(BeTrue(), "%+v, failed requests: %v", tally, run.Faults())
	}, SpecTimeout(drainLimit))

	It("begins at once and takes as long as the streams need, in mode Graceful", func(ctx SpecContext) {
		guardNodes(ctx, "Graceful")
		node := nodes[1]
		stream := &v1alpha1.Stream{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "graceful"},
			Spec:       v1alpha1.StreamSpec{ContentType: "application/json", NodeName: node},
		}
		createStream(ctx, stream)
		pod := awaitGuard(ctx, node)
		playKubelet(ctx, pod)
		Expect(*pod.Spec.TerminationGracePeriodSeconds).To(BeEquivalentTo(600))
		Expect(apierrors.IsNotFound(cluster.Client().Get(ctx, guardOf(node), &policyv1.PodDisruptionBudget{}))).To(BeTrue())

		// The guard itself, as its pod runs it: asked to end, it waits for the node to be drained.
		kubeconfig, err := cluster.AccountKubeconfig(ctx, "streamshift-guard", node)
		Expect(err).NotTo(HaveOccurred())
		guard := exec.CommandContext(ctx, "../../bin/manager", pod.Spec.Containers[0].Args...)
		guard.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		guard.Stdout, guard.Stderr = GinkgoWriter, GinkgoWriter
		Expect(guard.Start()).To(Succeed())
		output := &strings.Builder{}
		command := kubectlDrain(ctx, node, output)
		Expect(command.Start()).To(Succeed())
		drained := make(chan error, 1)
		go func() { drained <- command.Wait() }()
		DeferCleanup(func(ctx SpecContext) { uncordon(ctx, node) })
		Eventually(ctx, func(g Gomega) {
			g.Expect(cluster.Client().Get(ctx, guardOf(node), pod)).To(Succeed())
			g.Expect(pod.DeletionTimestamp).NotTo(BeNil())
		}).WithTimeout(patience).WithPolling(20 * time.Millisecond).Should(Succeed())
		Expect(guard.Process.Signal(syscall.SIGTERM)).To(Succeed())
		Expect(guard.Wait()).To(Succeed(), "the guard ends by itself once it is asked to")
		Expect(ownedBy(ctx, node)).To(BeEmpty(), "and not before the streams have left")
		endGuard(ctx, node)
		Eventually(drained).WithTimeout(patience).Should(Receive(BeNil()), "%s", output)
	}, SpecTimeout(drainLimit))
})

// kubectlDrain is the real thing, for the pods that Streamshift made.
func kubectlDrain(ctx context.Context, node string, output *strings.Builder) *exec.Cmd {
	command := cluster.KubectlCommand(ctx, "drain", node, "--ignore-daemonsets", "--timeout="+patience.String())
	command.Stdout, command.Stderr = output, output
	return command
}
