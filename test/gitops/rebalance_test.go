package gitops

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

func rebalanceManifest(name, more string) string {
	return fmt.Sprintf(`apiVersion: streamshift.io/v1alpha1
kind: StreamRebalance
metadata: {name: %s, namespace: %s, labels: {app.kubernetes.io/instance: tracked}}
spec: {strategy: Count, minNodeAgeSeconds: 0, %s}`, name, namespace, more)
}

func getRebalance(t *testing.T, name string) *v1alpha1.StreamRebalance {
	t.Helper()
	object := &v1alpha1.StreamRebalance{}
	if err := cluster.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		t.Fatal(err)
	}
	return object
}

func phase(t *testing.T, name string) func() v1alpha1.RebalancePhase {
	return func() v1alpha1.RebalancePhase { return getRebalance(t, name).Status.Phase }
}

func reason(t *testing.T, name string) func() string {
	return func() string {
		ready, _ := condition.Get(getRebalance(t, name).Status.Conditions, v1alpha1.ConditionReady)
		return ready.Reason
	}
}

func patchRebalance(t *testing.T, name, spec string) {
	t.Helper()
	mustKubectl(t, "patch", "streamrebalance/"+name, "--type=merge", "-p", `{"spec":`+spec+`}`)
}

// crowd makes open streams on node-a that are not bound to it.
func crowd(t *testing.T, prefix string, count int) []string {
	t.Helper()
	var names, manifests []string
	for i := range count {
		names = append(names, fmt.Sprintf("%s-%d", prefix, i))
		manifests = append(manifests, streamManifest(names[i], "node-a"))
	}
	apply(t, strings.Join(manifests, "\n---\n"))
	for i, name := range names {
		mustWait(t, "--for=condition=Ready", "stream/"+name)
		manifests[i] = streamManifest(name, "")
	}
	apply(t, strings.Join(manifests, "\n---\n"))
	return names
}

// spread counts the streams by owner.
func spread(t *testing.T, names []string) map[string]int {
	t.Helper()
	count := map[string]int{}
	for _, name := range names {
		count[getStream(t, name).Status.Node]++
	}
	return count
}

func transfersOf(t *testing.T, plan string) []v1alpha1.StreamTransfer {
	t.Helper()
	list := &v1alpha1.StreamTransferList{}
	if err := cluster.Client().List(t.Context(), list, client.InNamespace(namespace), client.MatchingLabels{v1alpha1.LabelPlan: plan}); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func TestAPlanIsCarriedOutOnceItIsApproved(t *testing.T) {
	g, _ := test(t)
	names := crowd(t, "manual", 6)
	apply(t, rebalanceManifest("manual", "approval: Manual"))
	g.Eventually(phase(t, "manual")).Should(Equal(v1alpha1.RebalanceAwaitingApproval))
	planned := getRebalance(t, "manual").Status
	g.Expect(planned.Planned).To(Equal(int32(4)))
	g.Expect(planned.Moves).To(HaveLen(4))
	g.Expect(planned.ImbalancePercent).To(Equal(&v1alpha1.Imbalance{Before: 200, After: 0}))
	mustKubectl(t, "get", "controllerrevision/manual-"+planned.PlanHash)

	patchRebalance(t, "manual", `{"approvedPlan":"another"}`)
	g.Eventually(reason(t, "manual")).Should(Equal(v1alpha1.ReasonOtherApproved))
	g.Consistently(func() map[string]int { return spread(t, names) }).Should(Equal(map[string]int{"node-a": 6}))

	patchRebalance(t, "manual", fmt.Sprintf(`{"approvedPlan":%q}`, planned.PlanHash))
	mustWait(t, "--for=condition=Ready", "streamrebalance/manual")
	g.Expect(spread(t, names)).To(Equal(map[string]int{"node-a": 2, "node-b": 2, "node-c": 2}))
	status := getRebalance(t, "manual").Status
	g.Expect(status.Phase).To(Equal(v1alpha1.RebalanceSucceeded))
	g.Expect(status.Run.Succeeded).To(Equal(int32(4)))
	made := transfersOf(t, planned.PlanHash)
	g.Expect(made).To(HaveLen(4))
	for _, transfer := range made {
		g.Expect(transfer.Labels).NotTo(HaveKey("app.kubernetes.io/instance"), "T66: labels of the tool that applied it are not copied")
		g.Expect(transfer.Labels).To(HaveKeyWithValue(v1alpha1.LabelCause, v1alpha1.CauseRebalance))
	}

	// Planning the result again yields nothing, in a cool-down or not; what is finished never changes again.
	apply(t, rebalanceManifest("manual-again", "approval: Auto, coolDownSeconds: 0"))
	mustWait(t, "--for=condition=Ready", "streamrebalance/manual-again")
	g.Expect(reason(t, "manual-again")()).To(Equal(v1alpha1.ReasonNothingToDo))
	_, err := cluster.Kubectl(t.Context(), "patch", "streamrebalance/manual", "--type=merge", "-p", `{"spec":{"maxMoves":1}}`)
	g.Expect(err).To(MatchError(ContainSubstring("make another StreamRebalance")))
	patchRebalance(t, "manual", `{"suspend":true}`)
	g.Eventually(func() int64 { return getRebalance(t, "manual").Status.ObservedGeneration }).Should(Equal(getRebalance(t, "manual").Generation))
	g.Expect(phase(t, "manual")()).To(Equal(v1alpha1.RebalanceSucceeded))
}

// F15: a plan that is approved long after it was made.
func TestStaleMovesAreSkippedAndTooManyTurnThePlanStale(t *testing.T) {
	g, _ := test(t)
	names := crowd(t, "stale", 6)
	apply(t, rebalanceManifest("stale", "approval: Manual, maxStalePercent: 20"))
	apply(t, rebalanceManifest("stale-some", "approval: Manual, maxStalePercent: 50"))
	g.Eventually(phase(t, "stale")).Should(Equal(v1alpha1.RebalanceAwaitingApproval))
	g.Eventually(phase(t, "stale-some")).Should(Equal(v1alpha1.RebalanceAwaitingApproval))
	plan := getRebalance(t, "stale").Status
	movedOn := plan.Moves[0].Stream
	apply(t, transferManifest("stale-by-hand", movedOn, "node-c", ""))
	mustWait(t, "--for=condition=Ready", "streamtransfer/stale-by-hand")

	patchRebalance(t, "stale", fmt.Sprintf(`{"approvedPlan":%q}`, plan.PlanHash))
	mustWait(t, "--for=condition=Stalled", "streamrebalance/stale")
	g.Expect(phase(t, "stale")()).To(Equal(v1alpha1.RebalanceStale))
	g.Expect(spread(t, names)["node-a"]).To(Equal(5))

	patchRebalance(t, "stale-some", fmt.Sprintf(`{"approvedPlan":%q}`, getRebalance(t, "stale-some").Status.PlanHash))
	mustWait(t, "--for=condition=Ready", "streamrebalance/stale-some")
	status := getRebalance(t, "stale-some").Status
	g.Expect(status.Run.Succeeded).To(Equal(int32(3)))
	g.Expect(status.Run.Skipped).To(Equal(int32(1)))
	g.Expect(status.Exceptions).To(HaveLen(1))
	g.Expect(status.Exceptions[0].Stream).To(Equal(movedOn))
	g.Expect(status.Exceptions[0].Reason).To(Equal(v1alpha1.ReasonStreamMovedOn))
}

func TestSuspendStopsWhatHasNotStarted(t *testing.T) {
	g, _ := test(t)
	names := crowd(t, "suspended", 6)
	apply(t, rebalanceManifest("suspended", "approval: Auto, suspend: true"))
	g.Eventually(phase(t, "suspended")).Should(Equal(v1alpha1.RebalanceStopped))
	g.Consistently(func() map[string]int { return spread(t, names) }).Should(Equal(map[string]int{"node-a": 6}))
	patchRebalance(t, "suspended", `{"suspend":false}`)
	mustWait(t, "--for=condition=Ready", "streamrebalance/suspended")
	g.Expect(spread(t, names)["node-a"]).To(Equal(2))
}

// F4: a balancer that was restarted in the middle was stuck, or began anew.
func TestAManagerThatIsRestartedInTheMiddleGoesOn(t *testing.T) {
	g, ctx := test(t)
	const streams = 24
	names := crowd(t, "restarted", streams)
	apply(t, rebalanceManifest("restarted", "approval: Auto, maxInFlight: 1"))
	g.Eventually(func() int { return spread(t, names)["node-a"] }).Should(BeNumerically("<", streams-2))
	g.Expect(streamshift.Manager.Kill()).To(Succeed())
	left := spread(t, names)["node-a"]
	g.Expect(streamshift.Manager.Restart(ctx)).To(Succeed())
	mustWait(t, "--for=condition=Ready", "streamrebalance/restarted")
	status := getRebalance(t, "restarted").Status
	g.Expect(left).To(BeNumerically(">", streams/3), "the manager was killed too late")
	g.Expect(status.Run.Succeeded).To(Equal(status.Planned))
	g.Expect(transfersOf(t, status.PlanHash)).To(HaveLen(int(status.Planned)))
	for _, name := range names {
		g.Expect(getStream(t, name).Status.Epoch).To(BeNumerically("<=", 2), "%s was transferred twice", name)
	}
}

func TestAScheduleWaitsForItsTime(t *testing.T) {
	g, _ := test(t)
	apply(t, rebalanceManifest("nightly", `approval: Auto, schedule: "30 2 29 2 *", timeZone: Europe/Berlin, windowMinutes: 60`))
	mustWait(t, "--for=condition=Ready", "streamrebalance/nightly")
	status := getRebalance(t, "nightly").Status
	g.Expect(status.NextRun.UTC().Format("01-02 15:04")).To(Equal("02-29 01:30"))
	g.Expect(status.Run).To(BeNil())
	err := cluster.Apply(t.Context(), rebalanceManifest("windowed", "windowMinutes: 60"))
	g.Expect(err).To(MatchError(ContainSubstring("windowMinutes needs a schedule")))
}

func TestAScheduledPlanIsMadeInItsTimeAndTheNextOneFollowsAChange(t *testing.T) {
	g, _ := test(t)
	names := crowd(t, "scheduled", 6)
	manifest := `approval: Auto, schedule: "0 0 29 2 *", windowMinutes: 60, maxMoves: %d, coolDownSeconds: 0`
	apply(t, rebalanceManifest("scheduled", fmt.Sprintf(manifest, 1)))
	mustWait(t, "--for=condition=Ready", "streamrebalance/scheduled")
	leapDay := getRebalance(t, "scheduled").Status.NextRun
	bringForward := func() {
		t.Helper()
		due := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
		mustKubectl(t, "patch", "streamrebalance/scheduled", "--subresource=status", "--type=merge", "-p", fmt.Sprintf(`{"status":{"nextRun":%q}}`, due))
	}
	ended := func() bool {
		status := getRebalance(t, "scheduled").Status
		return status.Run != nil && status.Run.EndedAt != nil && status.NextRun.Equal(leapDay)
	}
	bringForward()
	g.Eventually(ended).Should(BeTrue())
	g.Expect(spread(t, names)["node-a"]).To(Equal(5))
	g.Expect(healthOf(t, "StreamRebalance", "scheduled")()).To(Equal(healthy))
	first := getRebalance(t, "scheduled").Status.PlanHash

	apply(t, rebalanceManifest("scheduled", fmt.Sprintf(manifest, 100)))
	g.Eventually(func() int64 { return getRebalance(t, "scheduled").Status.ObservedGeneration }).Should(Equal(int64(2)))
	bringForward()
	g.Eventually(func() string { return getRebalance(t, "scheduled").Status.PlanHash }).ShouldNot(Equal(first))
	g.Eventually(ended).Should(BeTrue())
	g.Expect(spread(t, names)).To(Equal(map[string]int{"node-a": 2, "node-b": 2, "node-c": 2}))
	_, err := cluster.Kubectl(t.Context(), "get", "controllerrevision/scheduled-"+first)
	g.Expect(err).To(MatchError(ContainSubstring("not found")), "the plan before is removed")
}
