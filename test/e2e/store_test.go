package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/test/localcluster"
	"github.com/streamshift/streamshift/test/timeline"
)

// startNodeOn starts a node with an object store of its own. It is gone after the spec.
func startNodeOn(ctx context.Context, name, store string) {
	GinkgoHelper()
	node, err := cluster.StartNode(ctx, localcluster.NodeOptions{Name: name, Slots: 10, Store: store})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx SpecContext) {
		Expect(node.Stop()).To(Succeed())
		Expect(cluster.Client().Delete(ctx, getNode(ctx, name))).To(Succeed())
	})
}

var _ = Describe("A node with another object store than the others", func() {
	It("says so, and takes no streams", func(ctx SpecContext) {
		stream := newStream(ctx, "elsewhere")
		const name = "node-with-another-store"
		startNodeOn(ctx, name, "mem://")
		var ready metav1.Condition
		Eventually(ctx, func() string {
			ready, _ = condition.Get(getNode(ctx, name).Status.Conditions, v1alpha1.ConditionReady)
			return ready.Message
		}).WithTimeout(patience).WithPolling(50 * time.Millisecond).Should(ContainSubstring("it has no log of the streams that there are"))
		Expect(ready.Status).To(Equal(metav1.ConditionFalse))

		err := cluster.Apply(ctx, transferManifest("elsewhere", namespace, stream.Name, name, ""))
		Expect(err).To(MatchError(ContainSubstring("is not ready")))
	}, SpecTimeout(drainLimit))
})

var _ = Describe("A stream whose log is not in the object store", func() {
	It("is opened nowhere until the log is back, and has lost nothing", func(ctx SpecContext) {
		newStream(ctx, "not-lost") // tells that the store is the right one
		stream := newStream(ctx, "lost")
		run := startLoad(ctx, stream.Name)
		awaitAppends(ctx, run, 10)
		owner := streamshift.Nodes[stream.Status.Node]
		Expect(owner.Kill()).To(Succeed())
		log := filepath.Join(strings.TrimPrefix(cluster.StoreURL(), "file://"), string(stream.UID))
		Expect(os.Rename(log, log+"-aside")).To(Succeed())
		Expect(owner.Start(ctx)).To(Succeed())
		awaitCannotOpen := func(node string) {
			GinkgoHelper()
			Eventually(ctx, func() string {
				Expect(cluster.Client().Get(ctx, client.ObjectKeyFromObject(stream), stream)).To(Succeed())
				ready, _ := condition.Get(stream.Status.Conditions, v1alpha1.ConditionReady)
				return ready.Message
			}).WithTimeout(patience).WithPolling(50 * time.Millisecond).Should(And(
				ContainSubstring("%s cannot open the stream", node), ContainSubstring("the log ends at segment 0")))
		}
		awaitCannotOpen(stream.Status.Node)

		target := otherNode(stream.Status.Node)
		key := newTransfer(ctx, stream.Name, target, "lost-elsewhere")
		awaitCannotOpen(target)
		Expect(os.Rename(log+"-aside", log)).To(Succeed())
		ended, err := timeline.AwaitEnd(ctx, cluster.Client(), key)
		Expect(err).NotTo(HaveOccurred())
		Expect(ended.Status.Phase).To(Equal(v1alpha1.TransferSucceeded), "%v", ended.Status.Conditions)
		awaitAppends(ctx, run, 10)
		tally := stopLoad(ctx, run)
		Expect(cleanButForFailures(tally)).To(BeTrue(), "%+v, failed requests: %v", tally, run.Faults())
	}, SpecTimeout(drainLimit))
})

var _ = Describe("A node whose object store does not answer", func() {
	It("says so, and takes no streams", func(ctx SpecContext) {
		const name = "node-without-store"
		startNodeOn(ctx, name, "s3://nowhere?region=none&anonymous=true&use_path_style=true&endpoint=http://127.0.0.1:1")
		var ready metav1.Condition
		Eventually(ctx, func() string {
			ready, _ = condition.Get(getNode(ctx, name).Status.Conditions, v1alpha1.ConditionReady)
			return ready.Reason
		}).WithTimeout(patience).WithPolling(50 * time.Millisecond).Should(Equal(v1alpha1.ReasonStoreUnreachable))
		Expect(ready.Status).To(Equal(metav1.ConditionFalse))
		Expect(ready.Message).To(ContainSubstring("cannot use the object store"))

		stream := newStream(ctx, "not-without-store")
		err := cluster.Apply(ctx, transferManifest("not-without-store", namespace, stream.Name, name, ""))
		Expect(err).To(MatchError(ContainSubstring("is not ready")))
	}, SpecTimeout(drainLimit))
})
