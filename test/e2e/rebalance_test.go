package e2e

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/load"
)

const (
	crowded        = 9
	rebalanceLimit = 3 * time.Minute
)

var _ = Describe("A rebalance", func() {
	It("is carried out under load once its plan is approved, without an error at any client", func(ctx SpecContext) {
		names := streamsOn(ctx, nodes[0], "crowded", crowded)
		var runs []*load.Run
		for _, name := range names {
			if len(runs) < 2*loadedStreams {
				runs = append(runs, startLoad(ctx, name))
			}
		}
		object := &v1alpha1.StreamRebalance{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "under-load"},
			Spec:       v1alpha1.StreamRebalanceSpec{Strategy: v1alpha1.RebalanceCount, Approval: v1alpha1.ApprovalManual},
		}
		Expect(cluster.Client().Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(cluster.Client().Delete(ctx, object)).To(Succeed()) })
		awaitRebalance(ctx, "jsonpath={.status.phase}=AwaitingApproval", object)
		Expect(object.Status.Planned).To(Equal(int32(6)), "%+v", object.Status)
		for _, run := range runs {
			awaitAppends(ctx, run, 10)
		}
		Expect(spreadOf(ctx, names)).To(Equal(map[string]int{nodes[0]: crowded}), "nothing moves before the approval")

		_, err := cluster.Kubectl(ctx, "patch", "streamrebalance/under-load", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"approvedPlan":%q}}`, object.Status.PlanHash))
		Expect(err).NotTo(HaveOccurred())
		awaitRebalance(ctx, "condition=Ready", object)
		Expect(object.Status.Run.Succeeded).To(Equal(int32(6)), "%+v", object.Status)
		Expect(spreadOf(ctx, names)).To(Equal(map[string]int{nodes[0]: 3, nodes[1]: 3, nodes[2]: 3}))
		for _, run := range runs {
			awaitAppends(ctx, run, 10)
			tally := stopLoad(ctx, run)
			Expect(tally.Clean()).To(BeTrue(), "%+v, failed requests: %v", tally, run.Faults())
		}
	}, SpecTimeout(rebalanceLimit))

	It("is refused at once where its schedule cannot be read", func(ctx SpecContext) {
		object := &v1alpha1.StreamRebalance{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "at-night"},
			Spec:       v1alpha1.StreamRebalanceSpec{Schedule: "at night", Approval: v1alpha1.ApprovalManual},
		}
		Expect(cluster.Client().Create(ctx, object)).To(MatchError(ContainSubstring(`spec.schedule: Invalid value: "at night": cannot be read`)))
		object.Spec.Schedule, object.Spec.TimeZone = "0 2 * * *", "Mars/Base"
		Expect(cluster.Client().Create(ctx, object)).To(MatchError(ContainSubstring(`spec.timeZone: Invalid value: "Mars/Base": is not known`)))
		object.Spec.TimeZone = "Europe/Berlin"
		Expect(cluster.Client().Create(ctx, object)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(cluster.Client().Delete(ctx, object)).To(Succeed()) })
		read := client.MergeFrom(object.DeepCopy()) // a patch, since the manager writes the object too
		object.Spec.Schedule = "0 25 * * *"
		Expect(cluster.Client().Patch(ctx, object, read)).To(MatchError(ContainSubstring(`spec.schedule: Invalid value: "0 25 * * *": cannot be read`)))
	}, SpecTimeout(rebalanceLimit))
})

// awaitRebalance waits and reads the rebalance as it is then.
func awaitRebalance(ctx context.Context, what string, object *v1alpha1.StreamRebalance) {
	GinkgoHelper()
	_, err := cluster.Kubectl(ctx, "wait", "--for="+what, "streamrebalance/"+object.Name, "--timeout="+patience.String())
	Expect(cluster.Client().Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	Expect(err).NotTo(HaveOccurred(), "%+v", object.Status)
}

// spreadOf counts the streams by owner.
func spreadOf(ctx context.Context, names []string) map[string]int {
	GinkgoHelper()
	count := map[string]int{}
	for _, name := range names {
		count[ownerOf(ctx, name)]++
	}
	return count
}
