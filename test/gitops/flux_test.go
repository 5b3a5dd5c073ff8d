package gitops

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/polling"
	"github.com/fluxcd/pkg/ssa"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// fluxManager is what Flux's kustomize-controller applies, waits, compares and prunes with.
func fluxManager(t *testing.T) *ssa.ResourceManager {
	t.Helper()
	config := cluster.RESTConfig()
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, httpClient)
	if err != nil {
		t.Fatal(err)
	}
	kube, err := client.New(config, client.Options{Mapper: mapper, Scheme: cluster.Client().Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	poller := polling.NewStatusPoller(kube, mapper, polling.Options{})
	return ssa.NewResourceManager(kube, poller, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
}

func waitOptions() ssa.WaitOptions {
	return ssa.WaitOptions{Interval: 100 * time.Millisecond, Timeout: patience, FailFast: true}
}

func TestFluxAppliesWaitsComparesAndPrunes(t *testing.T) {
	g, ctx := test(t)
	manager := fluxManager(t)
	set := objects(t, streamManifest("flux", "node-a")+"\n---\n"+rebalanceManifest("flux-nightly", `schedule: "0 3 * * *"`))
	manager.SetOwnerLabels(set, "streams", "flux-system")
	changes, err := manager.ApplyAllStaged(ctx, set, ssa.DefaultApplyOptions())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(changes.ToGroupedMap()[ssa.CreatedAction]).To(HaveLen(2))
	g.Expect(manager.Wait(set, waitOptions())).To(Succeed())
	g.Expect(getStream(t, "flux").Status.Node).To(Equal("node-a"))

	move := objects(t, transferManifest("flux-move", "flux", "node-a", ""))
	_, err = manager.ApplyAllStaged(ctx, move, ssa.DefaultApplyOptions())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manager.Wait(move, waitOptions())).To(Succeed())

	all := slices.Concat(set, move)
	for _, object := range all {
		change, _, _, err := manager.Diff(ctx, object, ssa.DefaultDiffOptions())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(change.Action).To(Equal(ssa.UnchangedAction), "what the controllers and the defaults add is no drift: %s", change.Subject)
	}
	changes, err = manager.ApplyAllStaged(ctx, all, ssa.DefaultApplyOptions())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(changes.ToGroupedMap()[ssa.UnchangedAction]).To(HaveLen(3))

	// Another node for the stream: the wait ends when it is there.
	moved := objects(t, streamManifest("flux", "node-b"))
	_, err = manager.ApplyAllStaged(ctx, moved, ssa.DefaultApplyOptions())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manager.Wait(moved, waitOptions())).To(Succeed())
	g.Expect(getStream(t, "flux").Status.Node).To(Equal("node-b"))

	_, err = manager.DeleteAll(ctx, all, ssa.DefaultDeleteOptions())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manager.WaitForTermination(all, waitOptions())).To(Succeed())
}

func TestFluxFailsFastOnATransferThatFailed(t *testing.T) {
	g, ctx := test(t)
	manager := fluxManager(t)
	apply(t, "apiVersion: streamshift.io/v1alpha1\nkind: Stream\nmetadata: {name: flux-unplaced, namespace: default}\nspec: {nodeSelector: {disk: none}}")
	set := objects(t, transferManifest("flux-fails", "flux-unplaced", "node-a", ", deadlineSeconds: 1"))
	_, err := manager.ApplyAllStaged(ctx, set, ssa.DefaultApplyOptions())
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { remove(t, set) })
	began := time.Now()
	g.Expect(manager.Wait(set, waitOptions())).To(MatchError(ContainSubstring("Failed")))
	g.Expect(time.Since(began)).To(BeNumerically("<", patience), "it waited until its time was over")
}

func TestFluxReplacesAnEditedTransferOnlyWhereItIsToldTo(t *testing.T) {
	g, ctx := test(t)
	manager := fluxManager(t)
	newStream(t, "flux-edited", "node-a")
	apply(t, streamManifest("flux-edited", ""))
	set := objects(t, transferManifest("flux-edited", "flux-edited", "node-b", ""))
	_, err := manager.ApplyAllStaged(ctx, set, ssa.DefaultApplyOptions())
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { remove(t, set) })
	g.Expect(manager.Wait(set, waitOptions())).To(Succeed())

	edited := objects(t, transferManifest("flux-edited", "flux-edited", "node-c", ""))
	_, err = manager.ApplyAllStaged(ctx, edited, ssa.DefaultApplyOptions())
	g.Expect(err).To(MatchError(ContainSubstring("a transfer is immutable but for cancel and ttlSecondsAfterFinished: delete it and make another one")))
	forced := ssa.DefaultApplyOptions()
	forced.Force = true
	_, err = manager.ApplyAllStaged(ctx, edited, forced)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manager.Wait(edited, waitOptions())).To(Succeed())
	g.Expect(getStream(t, "flux-edited").Status.Node).To(Equal("node-c"))
}

func remove(t *testing.T, set []*unstructured.Unstructured) {
	t.Helper()
	for _, object := range set {
		if err := client.IgnoreNotFound(cluster.Client().Delete(context.Background(), object)); err != nil {
			t.Error(err)
		}
	}
}
