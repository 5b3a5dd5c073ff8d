package gitops

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

// pause stops a node's process until the end of the test, or until resumed; it must be for less than a lease lasts.
func pause(t *testing.T, node string) (resume func()) {
	t.Helper()
	if err := streamshift.Nodes[node].Pause(); err != nil {
		t.Fatal(err)
	}
	resume = sync.OnceFunc(func() {
		if err := streamshift.Nodes[node].Resume(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(resume)
	return resume
}

// accepted tells whether the stream's register holds a pending record.
func accepted(t *testing.T, stream string) func() bool {
	return func() bool { return getStream(t, stream).Status.PendingTransfer != nil }
}

func gone(t *testing.T, transfer string) func() bool {
	return func() bool {
		err := cluster.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: transfer}, &v1alpha1.StreamTransfer{})
		return apierrors.IsNotFound(err)
	}
}

func TestATransferThatIsAppliedAgainDoesNothing(t *testing.T) {
	g, _ := test(t)
	newStream(t, "again", "")
	target := otherThan(getStream(t, "again").Status.Node)
	manifest := transferManifest("again", "again", target, "")
	apply(t, manifest)
	mustWait(t, "--for=condition=Ready", "streamtransfer/again")
	mustWait(t, "--for=jsonpath={.status.phase}=Succeeded", "streamtransfer/again")
	before, epoch := getTransfer(t, "again"), getStream(t, "again").Status.Epoch
	apply(t, manifest)
	g.Consistently(func() string { return getTransfer(t, "again").ResourceVersion }).Should(Equal(before.ResourceVersion))
	g.Expect(getStream(t, "again").Status.Epoch).To(Equal(epoch))
	g.Expect(before.OwnerReferences).To(BeEmpty(), "T64: what a user applied is pruned with its manifest")
	g.Expect(before.Finalizers).To(BeEmpty())
}

func TestATransferThatIsRecreatedMovesNothing(t *testing.T) {
	g, _ := test(t)
	newStream(t, "recreated", "")
	first := getStream(t, "recreated").Status.Node
	target := otherThan(first)
	manifest := transferManifest("recreated", "recreated", target, ", expectedEpoch: 1")
	apply(t, manifest)
	mustWait(t, "--for=condition=Ready", "streamtransfer/recreated")
	mustKubectl(t, "delete", "streamtransfer/recreated", "--timeout=5s") // terminal: gone at once
	g.Expect(gone(t, "recreated")()).To(BeTrue())
	apply(t, manifest)
	mustWait(t, "--for=condition=Ready", "streamtransfer/recreated")
	ready, _ := condition.Get(getTransfer(t, "recreated").Status.Conditions, v1alpha1.ConditionReady)
	g.Expect(ready.Reason).To(Equal(v1alpha1.ReasonAlreadyOnTarget))
	g.Expect(getStream(t, "recreated").Status.Epoch).To(Equal(int64(2)))

	// The stream has gone on: the old manifest is stale, and says so.
	apply(t, transferManifest("onwards", "recreated", first, ""))
	mustWait(t, "--for=condition=Ready", "streamtransfer/onwards")
	mustKubectl(t, "delete", "streamtransfer/recreated")
	err := cluster.Apply(t.Context(), manifest)
	g.Expect(err).To(MatchError(ContainSubstring("is at epoch 3, not at spec.expectedEpoch 1: it was opened anew since the transfer was written, and nothing is transferred")))
	g.Expect(getStream(t, "recreated").Status.Node).To(Equal(first))
}

func TestATransferThatIsEditedIsRefusedInOneSentence(t *testing.T) {
	g, _ := test(t)
	newStream(t, "edited", "")
	owner := getStream(t, "edited").Status.Node
	apply(t, transferManifest("edited", "edited", otherThan(owner), ""))
	mustWait(t, "--for=condition=Ready", "streamtransfer/edited")
	err := cluster.Apply(t.Context(), transferManifest("edited", "edited", owner, ""))
	g.Expect(err).To(MatchError(ContainSubstring("a transfer is immutable but for cancel and ttlSecondsAfterFinished: delete it and make another one")))
	g.Expect(strings.Count(err.Error(), "immutable")).To(Equal(1))
}

func TestATransferThatIsPrunedWhileItWaitsIsWithdrawn(t *testing.T) {
	g, _ := test(t)
	newStream(t, "pruned", "")
	source := getStream(t, "pruned").Status.Node
	resume := pause(t, source) // so that it does not close the stream
	apply(t, transferManifest("pruned", "pruned", otherThan(source), ""))
	g.Eventually(accepted(t, "pruned")).Should(BeTrue())
	mustKubectl(t, "delete", "streamtransfer/pruned", "--timeout=5s")
	g.Eventually(accepted(t, "pruned")).Should(BeFalse())
	resume()
	g.Consistently(owner(t, "pruned")).Should(Equal(source))
	mustWait(t, "--for=condition=Ready", "stream/pruned")
}

func TestATransferThatIsPrunedOnceItIsCommittedEnds(t *testing.T) {
	g, _ := test(t)
	newStream(t, "committed", "")
	target := otherThan(getStream(t, "committed").Status.Node)
	resume := pause(t, target) // so that it does not open the stream
	apply(t, transferManifest("committed", "committed", target, ""))
	g.Eventually(owner(t, "committed")).Should(Equal(target))
	mustKubectl(t, "delete", "streamtransfer/committed", "--timeout=5s")
	resume()
	g.Eventually(func() v1alpha1.StreamState { return getStream(t, "committed").Status.State }).Should(Equal(v1alpha1.StreamOpen))
	g.Expect(getStream(t, "committed").Status.Node).To(Equal(target))
}

// T63: a time to live, and somebody who applies the manifest whenever it is gone.
func TestATimeToLiveAndSelfHealingMoveTheStreamOnce(t *testing.T) {
	g, _ := test(t)
	newStream(t, "healed", "")
	target := otherThan(getStream(t, "healed").Status.Node)
	manifest := transferManifest("healed", "healed", target, ", ttlSecondsAfterFinished: 0")
	for range 20 {
		apply(t, manifest)
		g.Eventually(gone(t, "healed")).Should(BeTrue())
	}
	g.Expect(getStream(t, "healed").Status.Epoch).To(Equal(int64(2)))
}

func TestAFinishedTransferTakesInAnotherTimeToLive(t *testing.T) {
	g, _ := test(t)
	newStream(t, "kept", "")
	target := otherThan(getStream(t, "kept").Status.Node)
	apply(t, transferManifest("kept", "kept", target, ""))
	mustWait(t, "--for=condition=Ready", "streamtransfer/kept")
	apply(t, transferManifest("kept", "kept", target, ", ttlSecondsAfterFinished: 3600"))
	g.Eventually(func() int64 { return getTransfer(t, "kept").Status.ObservedGeneration }).Should(Equal(int64(2)))
}

// F8: a look-up by a part of a name, and a history by the second.
func TestStreamsWithNamesThatBeginAlikeAreKeptApart(t *testing.T) {
	g, _ := test(t)
	const transfers = 10
	newStream(t, "a", "")
	newStream(t, "ab", "")
	other := getStream(t, "ab").ResourceVersion
	seen := map[string]bool{}
	for i := range transfers {
		name := fmt.Sprintf("a-%d", i)
		apply(t, transferManifest(name, "a", otherThan(getStream(t, "a").Status.Node), ""))
		mustWait(t, "--for=condition=Ready", "streamtransfer/"+name)
		status := getTransfer(t, name).Status
		seen[fmt.Sprintf("%d: %s to %s", status.Epoch, status.Source, status.Target)] = true
	}
	g.Expect(seen).To(HaveLen(transfers), "%v", seen)
	g.Expect(getStream(t, "ab").ResourceVersion).To(Equal(other))
}

// F11: a person's takeover and the operator's transfer of the same stream, in the same moment.
func TestOfTwoTransfersInTheSameMomentOneWins(t *testing.T) {
	g, ctx := test(t)
	newStream(t, "contended", "")
	source := getStream(t, "contended").Status.Node
	one, two := otherThan(source), otherThan(otherThan(source))
	epoch := int64(1)
	errs := make([]error, 2)
	var all sync.WaitGroup
	for i, target := range []string{one, two} {
		all.Go(func() {
			errs[i] = cluster.Client().Create(ctx, &v1alpha1.StreamTransfer{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "contended-" + target},
				Spec:       v1alpha1.StreamTransferSpec{Stream: "contended", Target: target, ExpectedEpoch: &epoch, Force: i == 0},
			})
		})
	}
	all.Wait()
	winners, why := 0, ""
	for i, target := range []string{one, two} {
		if errs[i] != nil {
			why = errs[i].Error()
			continue
		}
		name := "contended-" + target
		t.Cleanup(func() { _, _ = cluster.Kubectl(context.Background(), "delete", "streamtransfer/"+name) })
		g.Eventually(func() v1alpha1.TransferPhase { return getTransfer(t, name).Status.Phase }).Should(Or(Equal(v1alpha1.TransferSucceeded), Equal(v1alpha1.TransferFailed)))
		ready, _ := condition.Get(getTransfer(t, name).Status.Conditions, v1alpha1.ConditionReady)
		if ready.Status == metav1.ConditionTrue {
			winners++
			g.Expect(getStream(t, "contended").Status.Node).To(Equal(target))
		} else {
			why = ready.Message
		}
	}
	g.Expect(winners).To(Equal(1))
	g.Expect(why).To(Or(ContainSubstring(`transfer "contended-`), ContainSubstring("not at spec.expectedEpoch 1")))
	g.Expect(getStream(t, "contended").Status.Epoch).To(Equal(int64(2)))
}

// F13: a cancellation that had to wait for the very node that was failing.
func TestACancellationNeedsNeitherNode(t *testing.T) {
	g, _ := test(t)
	newStream(t, "cancelled", "")
	source := getStream(t, "cancelled").Status.Node
	target := otherThan(source)
	pause(t, target)
	pause(t, source)
	apply(t, transferManifest("cancelled", "cancelled", target, ""))
	g.Eventually(accepted(t, "cancelled")).Should(BeTrue())
	mustKubectl(t, "patch", "streamtransfer/cancelled", "--type=merge", "-p", `{"spec":{"cancel":true}}`)
	mustWait(t, "--for=jsonpath={.status.phase}=Cancelled", "streamtransfer/cancelled")
	g.Expect(getStream(t, "cancelled").Status.Node).To(Equal(source))
}

// otherThan returns the node after the one given.
func otherThan(node string) string {
	for i, name := range nodes {
		if name == node {
			return nodes[(i+1)%len(nodes)]
		}
	}
	return nodes[0]
}
