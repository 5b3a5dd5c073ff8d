package e2e

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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

	It("an edit of a transfer that was asked for", func(ctx SpecContext) {
		// To the owner: succeeds at once and moves nothing.
		Expect(cluster.Apply(ctx, transferManifest("edited", namespace, "refusals", owner, ""))).To(Succeed())
		err := cluster.Apply(ctx, transferManifest("edited", namespace, "refusals", free, ""))
		Expect(err).To(MatchError(ContainSubstring("a transfer is immutable")))
	})
})
