package install

import (
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("What kustomize renders", func() {
	DescribeTable("is accepted by the API server", func(ctx SpecContext, overlay string) {
		rendered, err := cluster.Kubectl(ctx, "apply", "--server-side", "--force-conflicts", "--dry-run=server",
			"-k", filepath.Join("..", "..", "config", "overlays", overlay))
		Expect(err).NotTo(HaveOccurred())
		Expect(rendered).To(ContainSubstring("daemonset.apps/streamshift-node serverside-applied"))
	},
		Entry("with an S3 bucket", "s3"), Entry("with a GCS bucket", "gcs"), Entry("with an Azure container", "azure"), Entry("with a volume", "file"))

	It("has pods that the restricted Pod Security Standard takes, without an exception", func(ctx SpecContext) {
		templates := podTemplates(ctx)
		Expect(templates).To(HaveLen(3))
		for component, template := range templates {
			pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
			pod.Namespace, pod.Name = system, component
			Expect(api.Create(ctx, pod, client.DryRunAll)).To(Succeed(), component)
			By("refusing the same pod with root rights")
			root := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
			root.Namespace, root.Name = system, component
			root.Spec.SecurityContext = nil
			Expect(api.Create(ctx, root, client.DryRunAll)).To(MatchError(ContainSubstring(`violates PodSecurity "restricted:latest"`)), component)
		}
	})

	It("has guards run the manager's own image", func(ctx SpecContext) {
		manager := &appsv1.Deployment{}
		Expect(api.Get(ctx, client.ObjectKey{Namespace: system, Name: "streamshift-manager"}, manager)).To(Succeed())
		container := manager.Spec.Template.Spec.Containers[0]
		Expect(container.Env).To(ContainElement(corev1.EnvVar{Name: "GUARD_IMAGE", Value: container.Image}))
	})

	It("tells everybody who is authenticated where the gateway is", func(ctx SpecContext) {
		named := &corev1.ConfigMap{}
		Expect(as(ctx, "streamshift-guard", "").Get(ctx, client.ObjectKey{Namespace: metav1.NamespacePublic, Name: "streamshift"}, named)).To(Succeed())
		Expect(named.Data).To(HaveKeyWithValue("gateway", "https://streamshift-gateway.streamshift-system.svc"))
	})
})

// podTemplates returns what the components' pods are made from, by component.
func podTemplates(ctx SpecContext) map[string]corev1.PodTemplateSpec {
	GinkgoHelper()
	templates := map[string]corev1.PodTemplateSpec{}
	var deployments appsv1.DeploymentList
	Expect(api.List(ctx, &deployments, client.InNamespace(system))).To(Succeed())
	for i := range deployments.Items {
		templates[deployments.Items[i].Name] = deployments.Items[i].Spec.Template
	}
	var daemons appsv1.DaemonSetList
	Expect(api.List(ctx, &daemons, client.InNamespace(system))).To(Succeed())
	for i := range daemons.Items {
		templates[daemons.Items[i].Name] = daemons.Items[i].Spec.Template
	}
	return templates
}
