package gitops

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

func reconciling(t *testing.T, stream string) func() string {
	return func() string {
		c, _ := condition.Get(getStream(t, stream).Status.Conditions, v1alpha1.ConditionReconciling)
		if c.Status != metav1.ConditionTrue {
			return ""
		}
		return c.Reason + ": " + c.Message
	}
}

func placements(t *testing.T, stream string) []v1alpha1.StreamTransfer {
	t.Helper()
	list := &v1alpha1.StreamTransferList{}
	labels := client.MatchingLabels{v1alpha1.LabelCause: v1alpha1.CausePlacement, v1alpha1.LabelStream: stream}
	if err := cluster.Client().List(t.Context(), list, client.InNamespace(namespace), labels); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func TestAChangedNodeNameTransfersTheStream(t *testing.T) {
	g, _ := test(t)
	newStream(t, "placed", "node-a")
	apply(t, streamManifest("placed", "node-b"))
	g.Eventually(owner(t, "placed")).Should(Equal("node-b"))
	mustWait(t, "--for=condition=Ready", "stream/placed")
	g.Eventually(func() int64 { return getStream(t, "placed").Status.ObservedGeneration }).Should(Equal(getStream(t, "placed").Generation))
	made := placements(t, "placed")
	g.Expect(made).To(HaveLen(1))
	g.Expect(made[0].Name).To(Equal("placed-placement-1"))
	g.Expect(made[0].OwnerReferences).To(HaveLen(1))
	g.Eventually(reconciling(t, "placed")).Should(BeEmpty())

	// Removed: it stays.
	mustKubectl(t, "patch", "stream/placed", "--type=merge", "-p", `{"spec":{"nodeName":null}}`)
	g.Eventually(func() int64 { return getStream(t, "placed").Status.ObservedGeneration }).Should(Equal(getStream(t, "placed").Generation))
	g.Consistently(owner(t, "placed")).Should(Equal("node-b"))
	g.Expect(placements(t, "placed")).To(HaveLen(1))
}

func TestAStreamWaitsForTheNodeOfItsSpecAndSaysSo(t *testing.T) {
	g, _ := test(t)
	newStream(t, "waits", "node-a")
	cordon(t, "node-b")
	apply(t, streamManifest("waits", "node-b"))
	g.Eventually(reconciling(t, "waits")).Should(Equal(
		"NodeNameWaits: The stream is to go to node node-b, which spec.nodeName names: it waits, since node node-b is unschedulable."))
	g.Consistently(owner(t, "waits")).Should(Equal("node-a"))
	uncordon(t, "node-b")
	g.Eventually(owner(t, "waits")).Should(Equal("node-b"))
	g.Eventually(reconciling(t, "waits")).Should(BeEmpty())
}

func TestADrainedStreamReturnsToTheNodeOfItsSpec(t *testing.T) {
	g, _ := test(t)
	newStream(t, "returns", "node-a")
	cordon(t, "node-a")
	g.Eventually(owner(t, "returns")).ShouldNot(Equal("node-a"))
	g.Eventually(reconciling(t, "returns")).Should(ContainSubstring("node-a is unschedulable"))
	uncordon(t, "node-a")
	g.Eventually(owner(t, "returns")).Should(Equal("node-a"))
}

func TestASpecThatWantsNothingOfTheNodeIsSeen(t *testing.T) {
	g, _ := test(t)
	newStream(t, "seen", "")
	mustKubectl(t, "patch", "stream/seen", "--type=merge", "-p", `{"spec":{"drainPolicy":"Stay"}}`)
	g.Eventually(func() int64 { return getStream(t, "seen").Status.ObservedGeneration }).Should(Equal(int64(2)))
	mustWait(t, "--for=jsonpath={.status.conditions[?(@.type==\"Ready\")].observedGeneration}=2", "stream/seen")
}
