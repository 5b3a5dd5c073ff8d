//go:build linux

package cluster

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/streamshift/streamshift/test/kubelets"
	"github.com/streamshift/streamshift/test/s3server"
)

// kubectl runs kubectl as the administrator and returns what it printed.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	output, err := tryKubectl(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	return output
}

func tryKubectl(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, cluster.Kubectl(), append([]string{"--kubeconfig", cluster.Kubeconfig()}, args...)...)
	output, err := command.CombinedOutput()
	if err != nil {
		return string(output), fmt.Errorf("running kubectl %s: %w: %s", strings.Join(args, " "), err, output)
	}
	return string(output), nil
}

// kustomization writes what docs/install.md tells users to write, for the object store of these tests, and returns its folder.
func kustomization(commit, tag string) string {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	base, err := filepath.Rel(folder, cluster.Sources(commit))
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(folder, "kustomization.yaml"), fmt.Appendf(nil, `resources:
- %[1]s/config/overlays/s3
configMapGenerator:
- name: streamshift-store
  namespace: streamshift-system
  behavior: merge
  literals:
  - url=%[2]s
images:
- {name: streamshift/manager, newName: docker.io/streamshift/manager, newTag: %[3]s}
- {name: streamshift/node, newName: docker.io/streamshift/node, newTag: %[3]s}
- {name: streamshift/gateway, newName: docker.io/streamshift/gateway, newTag: %[3]s}
replacements: # guards run the manager's own image
- source: {kind: Deployment, name: streamshift-manager, fieldPath: "spec.template.spec.containers.[name=manager].image"}
  targets:
  - select: {kind: Deployment, name: streamshift-manager}
    fieldPaths: ["spec.template.spec.containers.[name=manager].env.[name=GUARD_IMAGE].value"]
`, base, s3server.StoreURL(storeAddress), tag), 0o600)).To(Succeed())
	return folder
}

// installByKustomize installs, and waits until everything runs.
func installByKustomize(ctx context.Context, commit, tag string) {
	GinkgoHelper()
	createCredentials(ctx)
	kubectl(ctx, "apply", "--server-side", "-k", kustomization(commit, tag))
	awaitRollout(ctx)
	kubectl(ctx, "wait", "--for=condition=Ready", "streamnodes", "--all", "--timeout="+patience.String())
}

// uninstallByKustomize is the removal of docs/install.md, in its order.
func uninstallByKustomize(ctx context.Context) {
	GinkgoHelper()
	kubectl(ctx, "delete", "streams", "--all", "--all-namespaces", "--timeout="+patience.String())
	Expect(objectsInStore()).To(BeEmpty())
	kubectl(ctx, "delete", "-k", kustomization("", version), "--timeout="+patience.String())
	expectNothingLeft(ctx)
}

// awaitRollout waits until what is installed runs as it is to run.
func awaitRollout(ctx context.Context) {
	GinkgoHelper()
	for _, workload := range []string{"deployment/streamshift-manager", "daemonset/streamshift-node", "deployment/streamshift-gateway"} {
		kubectl(ctx, "-n", system, "rollout", "status", workload, "--timeout="+patience.String())
	}
}

// createCredentials makes the namespace, and the Secret in it with what the object store asks of agents, before there are agents: they read
// it when they start.
func createCredentials(ctx context.Context) {
	GinkgoHelper()
	kubectl(ctx, "create", "namespace", system)
	args := []string{"-n", system, "create", "secret", "generic", "streamshift-store-credentials"}
	for _, variable := range s3server.Env() {
		args = append(args, "--from-literal="+variable)
	}
	kubectl(ctx, args...)
}

// installedByKustomize is the install of docs/install.md.
func installedByKustomize() {
	It("runs: every pod is ready, and every node registered", func(ctx SpecContext) {
		installByKustomize(ctx, "", version)
		Expect(podNames(ctx, "node")).To(HaveLen(len(kubelets.NodeNames)), "one agent a node")
		AddReportEntry("pods", kubectl(ctx, "get", "pods", "-A", "-o", "wide"))
	}, SpecTimeout(2*patience))
}

func uninstalledByKustomize() {
	It("leaves nothing, in the cluster and in the object store", func(ctx SpecContext) {
		uninstallByKustomize(ctx)
	}, SpecTimeout(2*patience))
}

// objectsInStore are the objects of streams. Those by which agents put the store to the test are not: one that is killed meanwhile leaves some.
func objectsInStore() []string {
	GinkgoHelper()
	var objects []string
	bucket := filepath.Join(cluster.Folder(), "beside", "s3", s3server.Bucket)
	Expect(filepath.WalkDir(bucket, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && !strings.HasPrefix(path, filepath.Join(bucket, "probe")) {
			objects = append(objects, path)
		}
		return err
	})).To(Succeed())
	return objects
}

// expectNothingLeft looks for whatever bears the name, in all kinds of objects that are deleted with an install.
func expectNothingLeft(ctx context.Context) {
	GinkgoHelper()
	kinds := strings.Join([]string{
		"namespaces", "customresourcedefinitions", "clusterroles", "clusterrolebindings", "validatingwebhookconfigurations",
		"validatingadmissionpolicies", "validatingadmissionpolicybindings", "priorityclasses",
	}, ",")
	Eventually(ctx, func(g Gomega) {
		left, err := tryKubectl(ctx, "get", kinds, "-o", "name")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(left).NotTo(ContainSubstring("streamshift"))
		left, err = tryKubectl(ctx, "get", "pods,configmaps,roles,rolebindings,leases", "--all-namespaces", "-o", "name")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(left).NotTo(ContainSubstring("streamshift"))
	}).WithTimeout(patience).WithPolling(500 * time.Millisecond).Should(Succeed())
}
