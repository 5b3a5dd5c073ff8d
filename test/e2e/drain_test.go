package e2e

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/test/load"
)

const (
	// drainedStreams are on the drained node; loadedStreams of them have load.
	drainedStreams = 300
	loadedStreams  = 4
	// makersAtOnce make streams at the same time.
	makersAtOnce = 16
	drainLimit   = 5 * time.Minute
	// stillFor is for how long nothing must start after a drain was withdrawn.
	stillFor = 2 * time.Second
)

var _ = Describe("A drain", func() {
	It("empties a cordoned node without an error at any client", func(ctx SpecContext) {
		node := nodes[0]
		names := streamsOn(ctx, node, "drained", drainedStreams)
		var runs []*load.Run
		for _, name := range names[:loadedStreams] {
			runs = append(runs, startLoad(ctx, name))
		}
		began := time.Now()
		cordon(ctx, node)
		awaitDrained(ctx, node)
		AddReportEntry("drained", fmt.Sprintf("%d streams in %v", drainedStreams, time.Since(began).Round(time.Millisecond)))
		Expect(ownedBy(ctx, node)).To(BeEmpty())
		for _, run := range runs {
			awaitAppends(ctx, run, 10)
			tally := stopLoad(ctx, run)
			Expect(tally.Clean()).To(BeTrue(), "%+v, failed requests: %v", tally, run.Faults())
		}
		for _, other := range nodes[1:] {
			streamNode := getNode(ctx, other)
			Expect(len(ownedBy(ctx, other))).To(BeNumerically("<=", int(streamNode.Spec.Slots)))
		}
	}, SpecTimeout(drainLimit))

	It("stops when the node is uncordoned, and nothing hangs", func(ctx SpecContext) {
		node := nodes[1]
		streamsOn(ctx, node, "half", drainedStreams)
		before := len(ownedBy(ctx, node))
		cordon(ctx, node)
		Eventually(ctx, func() int { return len(ownedBy(ctx, node)) }).WithTimeout(patience).WithPolling(5 * time.Millisecond).Should(BeNumerically("<", before))
		uncordon(ctx, node)
		// What was accepted ends; then the owners stay as they are.
		Eventually(ctx, func() []string { return openDrains(ctx) }).WithTimeout(patience).WithPolling(20 * time.Millisecond).Should(BeEmpty())
		left := len(ownedBy(ctx, node))
		Consistently(ctx, func() int { return len(ownedBy(ctx, node)) }).WithTimeout(stillFor).WithPolling(50 * time.Millisecond).Should(Equal(left))
		Expect(openDrains(ctx)).To(BeEmpty())
		Eventually(ctx, func() bool {
			return condition.IsTrue(getNode(ctx, node).Status.Conditions, v1alpha1.ConditionDraining)
		}).WithTimeout(patience).WithPolling(20 * time.Millisecond).Should(BeFalse())
	}, SpecTimeout(drainLimit))

	It("says of an empty node at once that it is drained", func(ctx SpecContext) {
		node := nodes[2]
		cordon(ctx, node)
		awaitDrained(ctx, node)
	}, SpecTimeout(drainLimit))

	It("goes on where the API server cannot reach the webhook, which people are told", func(ctx SpecContext) {
		node := nodes[2]
		names := streamsOn(ctx, node, "unasked", 5)
		pointWebhook(ctx, 1) // nobody listens there
		refused := &v1alpha1.StreamTransfer{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "unasked"},
			Spec:       v1alpha1.StreamTransferSpec{Stream: names[0], Target: otherNode(node)},
		}
		// The API server learns of it a moment later; whatever it lets through until then is not made.
		Eventually(ctx, func() error {
			return cluster.Client().Create(ctx, refused.DeepCopy(), client.DryRunAll)
		}).WithTimeout(patience).WithPolling(20 * time.Millisecond).Should(MatchError(ContainSubstring("failed calling webhook")))
		cordon(ctx, node)
		awaitDrained(ctx, node)
		Expect(ownedBy(ctx, node)).To(BeEmpty())
	}, SpecTimeout(drainLimit))

	It("names the streams that cannot leave", func(ctx SpecContext) {
		node := nodes[0]
		stream := &v1alpha1.Stream{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "stays"},
			Spec:       v1alpha1.StreamSpec{ContentType: "application/json", NodeName: node, DrainPolicy: v1alpha1.DrainStay},
		}
		createStream(ctx, stream)
		cordon(ctx, node)
		Eventually(ctx, func() *v1alpha1.DrainStatus { return getNode(ctx, node).Status.Drain }).WithTimeout(patience).WithPolling(20 * time.Millisecond).
			Should(HaveField("Blockers", ConsistOf(HaveField("Stream", "default/stays"))))
		blocked, _ := condition.Get(getNode(ctx, node).Status.Conditions, v1alpha1.ConditionDrainBlocked)
		Expect(blocked.Status).To(Equal(metav1.ConditionTrue))
		Expect(blocked.Reason).To(Equal("StayPolicy"))
	}, SpecTimeout(drainLimit))
})

// pointWebhook has the API server look for the manager's webhooks at another port until the end of the spec.
func pointWebhook(ctx context.Context, port int32) {
	GinkgoHelper()
	point := func(ctx context.Context, port int32) (before int32) {
		hooks := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "streamshift"}}
		Expect(cluster.Client().Get(ctx, client.ObjectKeyFromObject(hooks), hooks)).To(Succeed())
		Expect(hooks.Webhooks).NotTo(BeEmpty())
		before = *hooks.Webhooks[0].ClientConfig.Service.Port
		for _, hook := range hooks.Webhooks {
			hook.ClientConfig.Service.Port = &port
		}
		Expect(cluster.Client().Update(ctx, hooks)).To(Succeed())
		return before
	}
	before := point(ctx, port)
	DeferCleanup(func(ctx SpecContext) {
		point(ctx, before)
		judged := &v1alpha1.StreamTransfer{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "judged"},
			Spec:       v1alpha1.StreamTransferSpec{Stream: "not-there", Target: nodes[0]},
		}
		Eventually(ctx, func() error { // specs after this one find it as it was
			return cluster.Client().Create(ctx, judged.DeepCopy(), client.DryRunAll)
		}).WithTimeout(patience).WithPolling(20 * time.Millisecond).Should(MatchError(ContainSubstring("does not exist")))
	})
}

var _ = Describe("A takeover", func() {
	It("loses nothing that a killed node has acknowledged", func(ctx SpecContext) {
		stream := newStream(ctx, "taken-over")
		run := startLoad(ctx, stream.Name)
		source, target := stream.Status.Node, otherNode(stream.Status.Node)
		Expect(streamshift.Nodes[source].Kill()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(streamshift.Nodes[source].Restart(ctx)).To(Succeed()) })
		transfer := &v1alpha1.StreamTransfer{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "taken-over"},
			Spec:       v1alpha1.StreamTransferSpec{Stream: stream.Name, Target: target, Force: true},
		}
		Expect(cluster.Client().Create(ctx, transfer)).To(Succeed())
		awaitSuccess(ctx, client.ObjectKeyFromObject(transfer))
		Expect(cluster.Client().Get(ctx, client.ObjectKeyFromObject(transfer), transfer)).To(Succeed())
		Expect(transfer.Status.Forced).To(BeTrue())
		awaitAppends(ctx, run, 10)
		tally := stopLoad(ctx, run)
		// While the node was dead and its lease ran out, requests failed; what was acknowledged is there, once and in order.
		Expect(cleanButForFailures(tally)).To(BeTrue(), "%+v", tally)
	}, SpecTimeout(drainLimit))
})

// streamsOn makes streams on a node, free to go elsewhere, and returns their names.
func streamsOn(ctx context.Context, node, prefix string, count int) []string {
	GinkgoHelper()
	labels := client.MatchingLabels{"test": prefix}
	DeferCleanup(func(ctx SpecContext) {
		Expect(cluster.Client().DeleteAllOf(ctx, &v1alpha1.Stream{}, client.InNamespace(namespace), labels)).To(Succeed())
	})
	names, errs := make([]string, count), make([]error, makersAtOnce)
	var makers sync.WaitGroup
	for maker := range makersAtOnce {
		makers.Go(func() {
			for i := maker; i < count && errs[maker] == nil; i += makersAtOnce {
				names[i] = fmt.Sprintf("%s-%d", prefix, i)
				errs[maker] = cluster.Client().Create(ctx, &v1alpha1.Stream{
					ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names[i], Labels: labels},
					Spec:       v1alpha1.StreamSpec{ContentType: "application/json", NodeName: node},
				})
			}
		})
	}
	makers.Wait()
	Expect(errors.Join(errs...)).To(Succeed())
	Eventually(ctx, func() int {
		open := 0
		for _, stream := range ownedBy(ctx, node) {
			if stream.Status.State == v1alpha1.StreamOpen {
				open++
			}
		}
		return open
	}).WithTimeout(patience).WithPolling(50 * time.Millisecond).Should(BeNumerically(">=", count))
	for _, name := range names {
		free := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"nodeName":null}}`))
		Expect(cluster.Client().Patch(ctx, &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}, free)).To(Succeed())
	}
	return names
}

func ownedBy(ctx context.Context, node string) []v1alpha1.Stream {
	GinkgoHelper()
	var list v1alpha1.StreamList
	Expect(cluster.Client().List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{"status.node": node})).To(Succeed())
	return list.Items
}

// openDrains names the transfers of drains that have not ended.
func openDrains(ctx context.Context) []string {
	GinkgoHelper()
	var list v1alpha1.StreamTransferList
	Expect(cluster.Client().List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{v1alpha1.LabelCause: v1alpha1.CauseDrain})).To(Succeed())
	var open []string
	for _, transfer := range list.Items {
		ended := condition.IsTrue(transfer.Status.Conditions, v1alpha1.ConditionReady) || condition.IsTrue(transfer.Status.Conditions, v1alpha1.ConditionStalled)
		if !ended {
			open = append(open, transfer.Name)
		}
	}
	return open
}

func getNode(ctx context.Context, name string) *v1alpha1.StreamNode {
	GinkgoHelper()
	node := &v1alpha1.StreamNode{}
	Expect(cluster.Client().Get(ctx, client.ObjectKey{Name: name}, node)).To(Succeed())
	return node
}

func awaitDrained(ctx context.Context, node string) {
	GinkgoHelper()
	_, err := cluster.Kubectl(ctx, "wait", "--for=condition=Drained", "streamnode/"+node, "--timeout="+(drainLimit-patience).String())
	Expect(err).NotTo(HaveOccurred(), "%+v", getNode(ctx, node).Status)
}

// cordon cordons the Kubernetes node until the end of the spec.
func cordon(ctx context.Context, node string) {
	GinkgoHelper()
	_, err := cluster.Kubectl(ctx, "cordon", node)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) { uncordon(ctx, node) })
}

// uncordon ends a drain and waits until the node takes streams again.
func uncordon(ctx context.Context, node string) {
	GinkgoHelper()
	_, err := cluster.Kubectl(ctx, "uncordon", node)
	Expect(err).NotTo(HaveOccurred())
	_, err = cluster.Kubectl(ctx, "wait", "--for=condition=Schedulable", "streamnode/"+node, "--timeout="+patience.String())
	Expect(err).NotTo(HaveOccurred())
}
