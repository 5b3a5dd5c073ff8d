package e2e

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/localcluster"
)

// transferManifest asks for a transfer of a stream to a node; extra is more of its spec, in YAML's flow form.
func transferManifest(name, namespace, stream, target, extra string) string {
	return fmt.Sprintf("{apiVersion: streamshift.io/v1alpha1, kind: StreamTransfer, metadata: {name: %s, namespace: %s}, spec: {stream: %s, target: %s%s}}",
		name, namespace, stream, target, extra)
}

var _ = Describe("kubectl apply refuses what cannot work, in one sentence", Ordered, func() {
	var owner, free string

	BeforeAll(func(ctx SpecContext) {
		stream := newStream(ctx, "refusals")
		owner, free = stream.Status.Node, otherNode(stream.Status.Node)
	})

	DescribeTable("a transfer", func(ctx SpecContext, manifest func() string, sentence string) {
		err := cluster.Apply(ctx, manifest())
		Expect(err).To(MatchError(ContainSubstring(sentence)))
	},
		Entry("of a stream that does not exist",
			func() string { return transferManifest("refused", namespace, "nobody", free, "") }, `stream "nobody" does not exist`),
		Entry("to a node that does not exist",
			func() string { return transferManifest("refused", namespace, "refusals", "node-z", "") }, `node "node-z" is not registered`),
		Entry("in a namespace that does not exist",
			func() string { return transferManifest("refused", "nowhere", "refusals", free, "") }, `namespaces "nowhere" not found`),
		Entry("from a node that does not own the stream",
			func() string { return transferManifest("refused", namespace, "refusals", free, ", source: "+free) }, "spec.source"),
		Entry("at an epoch that has passed",
			func() string {
				return transferManifest("refused", namespace, "refusals", free, ", expectedEpoch: 4711")
			}, "4711"),
		Entry("without a target",
			func() string { return transferManifest("refused", namespace, "refusals", `""`, "") }, "spec.target"),
	)

	It("a transfer to a node that takes no streams", func(ctx SpecContext) {
		_, err := cluster.Kubectl(ctx, "patch", "streamnode", free, "--type=merge", "-p", `{"spec":{"unschedulable":true}}`)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx SpecContext) {
			_, err := cluster.Kubectl(ctx, "patch", "streamnode", free, "--type=merge", "-p", `{"spec":{"unschedulable":false}}`)
			Expect(err).NotTo(HaveOccurred())
			_, err = cluster.Kubectl(ctx, "wait", "--for=condition=Schedulable", "streamnode/"+free, "--timeout="+patience.String())
			Expect(err).NotTo(HaveOccurred())
		})
		_, err = cluster.Kubectl(ctx, "wait", "--for=condition=Schedulable=false", "streamnode/"+free, "--timeout="+patience.String())
		Expect(err).NotTo(HaveOccurred())
		err = cluster.Apply(ctx, transferManifest("refused", namespace, "refusals", free, ""))
		Expect(err).To(MatchError(ContainSubstring(free)))
	})

	It("a transfer to a node without a free slot", func(ctx SpecContext) {
		startExtraNode(ctx, "node-full", 1)
		filling := &v1alpha1.Stream{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "filling"},
			Spec:       v1alpha1.StreamSpec{ContentType: "application/json", NodeName: "node-full"},
		}
		createStream(ctx, filling)
		err := cluster.Apply(ctx, transferManifest("refused", namespace, "refusals", "node-full", ""))
		Expect(err).To(MatchError(And(ContainSubstring("node-full"), ContainSubstring("slot"))))
	})

	It("a transfer to a node that is gone", func(ctx SpecContext) {
		gone := startExtraNode(ctx, "node-gone", 1)
		Expect(gone.Kill()).To(Succeed())
		_, err := cluster.Kubectl(ctx, "wait", "--for=condition=Ready=Unknown", "streamnode/node-gone", "--timeout="+patience.String())
		Expect(err).NotTo(HaveOccurred())
		err = cluster.Apply(ctx, transferManifest("refused", namespace, "refusals", "node-gone", ""))
		Expect(err).To(MatchError(And(ContainSubstring("node-gone"), ContainSubstring("lease"))))
	})

	It("a second transfer while one is pending, unless it asks for the same", func(ctx SpecContext) {
		// While the source is paused, what was accepted stays pending.
		source := streamshift.Nodes[owner]
		Expect(source.Pause()).To(Succeed())
		DeferCleanup(source.Resume)
		first := newTransfer(ctx, "refusals", free, "pending")
		awaitAccepted(ctx, "refusals", first)
		err := cluster.Apply(ctx, transferManifest("refused", namespace, "refusals", otherNode(free), ""))
		Expect(err).To(MatchError(And(ContainSubstring("pending"), ContainSubstring(free))))
		same := newTransfer(ctx, "refusals", free, "the-same")
		Expect(source.Resume()).To(Succeed())
		awaitSuccess(ctx, first)
		awaitSuccess(ctx, same)
	}, SpecTimeout(oneTransferLimit+patience))

	It("an edit of a transfer that was asked for", func(ctx SpecContext) {
		// To the owner: succeeds at once and moves nothing.
		Expect(cluster.Apply(ctx, transferManifest("edited", namespace, "refusals", owner, ""))).To(Succeed())
		err := cluster.Apply(ctx, transferManifest("edited", namespace, "refusals", free, ""))
		Expect(err).To(MatchError(ContainSubstring("a transfer is immutable")))
	})
})

// startExtraNode starts a node for one spec, after which nothing is placed on it any more.
func startExtraNode(ctx context.Context, name string, slots int) *localcluster.Process {
	GinkgoHelper()
	process, err := cluster.StartNode(ctx, localcluster.NodeOptions{Name: name, Slots: slots})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		_, err := cluster.Kubectl(ctx, "patch", "streamnode", name, "--type=merge", "-p", `{"spec":{"unschedulable":true}}`)
		Expect(err).NotTo(HaveOccurred())
		Expect(process.Stop()).To(Succeed())
	})
	Expect(cluster.AwaitNode(ctx, name)).To(Succeed())
	return process
}
