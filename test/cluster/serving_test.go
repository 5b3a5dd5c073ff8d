//go:build linux

package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/kubelets"
)

// streams that the specs share; each spec's clients write to fresh ones where they judge all that a stream holds.
const streams = 12

// serving is what clients and operators meet on an ordinary day.
func serving() {
	It("makes streams, and spreads them over the nodes", func(ctx SpecContext) {
		for i := range streams {
			createStream(ctx, fmt.Sprintf("ordinary-%d", i), v1alpha1.StreamSpec{})
		}
		for _, node := range kubelets.NodeNames {
			Expect(ownedBy(ctx, node)).NotTo(BeEmpty(), node)
		}
	}, SpecTimeout(patience))

	It("transfers a stream under the hands of its clients, who reach it by the gateway's Service", func(ctx SpecContext) {
		createStream(ctx, "transferred", v1alpha1.StreamSpec{})
		clients := startClients(ctx, "transferred")
		for i := range 2 * len(kubelets.NodeNames) {
			target := kubelets.NodeNames[i%len(kubelets.NodeNames)]
			if ownerOf(ctx, "transferred") == target {
				continue
			}
			transfer(ctx, "transferred", target, fmt.Sprintf("transferred-%d", i))
			clients.awaitAppends(ctx, 5)
		}
		clients.expectExact(ctx)
	}, SpecTimeout(patience))

	It("refuses a transfer that cannot be accepted by a webhook that is reached through its Service", func(ctx SpecContext) {
		manifest := filepath.Join(GinkgoT().TempDir(), "refused.yaml")
		Expect(os.WriteFile(manifest, []byte("{apiVersion: streamshift.io/v1alpha1, kind: StreamTransfer, "+
			"metadata: {name: refused, namespace: default}, spec: {stream: ordinary-0, target: n9}}"), 0o600)).To(Succeed())
		_, err := tryKubectl(ctx, "apply", "-f", manifest)
		Expect(err).To(MatchError(And(ContainSubstring("admission webhook"), ContainSubstring(`node "n9" is not registered`))))
	})

	It("has an agent write about its own node only, by the token that its pod was given", func(ctx SpecContext) {
		agent := podOn(ctx, "node", "n1")
		token := kubectl(ctx, "-n", system, "create", "token", "streamshift-node", "--bound-object-kind=Pod",
			"--bound-object-name="+agent.Name, "--bound-object-uid="+string(agent.UID))
		asAgent := clientWith(strings.TrimSpace(token))
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"sessions":0}}`))
		node := func(name string) *v1alpha1.StreamNode {
			object := &v1alpha1.StreamNode{}
			object.Name = name
			return object
		}
		Expect(asAgent.Status().Patch(ctx, node("n1"), patch)).To(Succeed())
		Expect(asAgent.Status().Patch(ctx, node("n2"), patch)).To(MatchError(ContainSubstring("an agent writes only the StreamNode")))
	})

	It("keeps pods out of its namespace that are not restricted", func(ctx SpecContext) {
		_, err := tryKubectl(ctx, "-n", system, "run", "rich", "--image=streamshift/manager:"+version)
		Expect(err).To(MatchError(ContainSubstring(`violates PodSecurity "restricted`)))
	})
}

// podOn returns the pod of a component on a node.
func podOn(ctx context.Context, component, node string) corev1.Pod {
	GinkgoHelper()
	var found corev1.Pod
	Eventually(ctx, func(g Gomega) {
		pods := &corev1.PodList{}
		g.Expect(api.List(ctx, pods, client.InNamespace(system), client.MatchingLabels{"app.kubernetes.io/component": component})).To(Succeed())
		for i := range pods.Items {
			if pods.Items[i].Spec.NodeName == node && pods.Items[i].DeletionTimestamp == nil {
				found = pods.Items[i]
			}
		}
		g.Expect(found.Name).NotTo(BeEmpty(), "there is no %s on %s", component, node)
	}).WithTimeout(patience).WithPolling(100 * time.Millisecond).Should(Succeed())
	return found
}

// clientWith is somebody who has nothing but a token.
func clientWith(token string) client.Client {
	GinkgoHelper()
	administrator, err := cluster.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	config := rest.AnonymousClientConfig(administrator)
	config.BearerToken = token
	made, err := client.New(config, client.Options{Scheme: api.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	return made
}
