//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/s3server"
)

// helm runs Helm, which was built before the cluster was started.
func helm(ctx context.Context, args ...string) {
	GinkgoHelper()
	built, err := exec.CommandContext(ctx, checkout("hack", "helm", "build.sh")).Output()
	Expect(err).NotTo(HaveOccurred())
	args = append([]string{"--kubeconfig", cluster.Kubeconfig(), "--namespace", system}, args...)
	output, err := exec.CommandContext(ctx, strings.TrimSpace(string(built)), args...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "helm %v: %s", args, output)
}

// installedByHelm is the other way to install, from the first command to the last, the last ones in the wrong order.
func installedByHelm() {
	install := func(ctx context.Context) {
		GinkgoHelper()
		helm(ctx, "install", "streamshift", checkout("charts", "streamshift"),
			"--set", "store.url="+s3server.StoreURL(storeAddress), "--set", "image.tag="+version)
		awaitRollout(ctx)
	}

	It("runs", func(ctx SpecContext) {
		createCredentials(ctx)
		install(ctx)
		createStream(ctx, "by-helm", v1alpha1.StreamSpec{})
		clients := startClients(ctx, "by-helm")
		clients.expectExact(ctx)
	}, SpecTimeout(2*patience))

	It("is upgraded under load", func(ctx SpecContext) {
		createStream(ctx, "upgraded", v1alpha1.StreamSpec{})
		clients := startClients(ctx, "upgraded")
		helm(ctx, "upgrade", "streamshift", checkout("charts", "streamshift"), "--reuse-values",
			"--set", "gateway.replicas=3", "--set", "node.extraArgs[0]=--slots=500", "--wait", "--timeout="+nodeLimit.String())
		awaitRollout(ctx)
		clients.expectExact(ctx)
	}, SpecTimeout(nodeLimit))

	It("leaves nothing that cannot be removed, in the wrong order: the release first, its streams afterwards", func(ctx SpecContext) {
		helm(ctx, "uninstall", "streamshift", "--wait")
		kubectl(ctx, "delete", "stream", "by-helm", "upgraded", "--wait=false")
		// Nobody is there to remove the log. Either somebody is installed again, ...
		install(ctx)
		kubectl(ctx, "wait", "--for=delete", "stream/by-helm", "stream/upgraded", "--timeout="+patience.String())
		Expect(objectsInStore()).To(BeEmpty())

		// ... or the log is given up.
		createStream(ctx, "given-up", v1alpha1.StreamSpec{})
		helm(ctx, "uninstall", "streamshift", "--wait")
		// An agent waits for a while whether somebody transfers its streams, and would remove the log meanwhile.
		kubectl(ctx, "-n", system, "wait", "--for=delete", "pods", "-l", "app.kubernetes.io/component=node", "--timeout="+patience.String())
		// Nobody is there to lift what would hold up `kubectl drain`, either.
		kubectl(ctx, "-n", system, "delete", "poddisruptionbudgets,pods", "-l", "app.kubernetes.io/name=streamshift-guard", "--timeout="+patience.String())
		kubectl(ctx, "delete", "stream", "given-up", "--wait=false")
		kubectl(ctx, "patch", "stream", "given-up", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
		Expect(objectsInStore()).NotTo(BeEmpty(), "the log stays in the store, and its owner removes it")
		for _, object := range objectsInStore() {
			Expect(os.Remove(object)).To(Succeed())
		}
		for _, kind := range []string{"streams", "streamnodes", "streamtransfers", "streamrebalances"} {
			kubectl(ctx, "delete", "crd", fmt.Sprintf("%s.streamshift.io", kind), "--timeout="+patience.String())
		}
		kubectl(ctx, "delete", "namespace", system, "--timeout="+patience.String())
		expectNothingLeft(ctx)
	}, SpecTimeout(nodeLimit))
}
