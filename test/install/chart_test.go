package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/streamshift/streamshift/test/localcluster"
)

const storeURL = "s3://streamshift?region=us-east-1"

var (
	helmPath string
	chart    = filepath.Join("..", "..", "charts", "streamshift")
)

// helm runs Helm and returns what it printed.
func helm(ctx context.Context, args ...string) (string, error) {
	var output, complaint bytes.Buffer
	command := exec.CommandContext(ctx, helmPath, args...)
	command.Stdout, command.Stderr = &output, &complaint
	if err := command.Run(); err != nil {
		return output.String(), fmt.Errorf("running helm %s: %w: %s", strings.Join(args, " "), err, complaint.String())
	}
	return output.String(), nil
}

// render renders the chart, and returns its objects by kind and name.
func render(ctx context.Context, namespace string, args ...string) map[string]*unstructured.Unstructured {
	GinkgoHelper()
	rendered, err := helm(ctx, append([]string{"template", "streamshift", chart, "--namespace", namespace}, args...)...)
	Expect(err).NotTo(HaveOccurred())
	return decode(rendered)
}

func decode(manifests string) map[string]*unstructured.Unstructured {
	GinkgoHelper()
	objects := map[string]*unstructured.Unstructured{}
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(manifests), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		Expect(err).NotTo(HaveOccurred())
		if len(object.Object) > 0 {
			objects[object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = object
		}
	}
}

// withoutChoices leaves out what the two ways to install do each in their own way: how the store is named, who makes the namespace, and that
// Helm leaves the kinds where they are.
func withoutChoices(objects map[string]*unstructured.Unstructured) map[string]any {
	GinkgoHelper()
	left := map[string]any{}
	for key, object := range objects {
		if key == "Namespace /"+system || strings.HasPrefix(key, "ConfigMap "+system+"/streamshift-store") {
			continue
		}
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations", "helm.sh/resource-policy")
		if object.GetKind() == "DaemonSet" {
			containers, _, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
			Expect(err).NotTo(HaveOccurred())
			Expect(containers).To(HaveLen(1))
			variables := containers[0].(map[string]any)["env"].([]any) //nolint:forcetypeassert // a wrong type fails the spec
			for _, variable := range variables {
				if variable := variable.(map[string]any); variable["name"] == "STORE_URL" { //nolint:forcetypeassert // as above
					delete(variable, "value")
					delete(variable, "valueFrom")
				}
			}
			Expect(unstructured.SetNestedSlice(object.Object, containers, "spec", "template", "spec", "containers")).To(Succeed())
		}
		left[key] = object.Object
	}
	return left
}

var _ = Describe("The Helm chart", Ordered, func() {
	BeforeAll(func(ctx SpecContext) {
		output, err := exec.CommandContext(ctx, filepath.Join("..", "..", "hack", "helm", "build.sh")).Output()
		Expect(err).NotTo(HaveOccurred())
		helmPath = strings.TrimSpace(string(output))
	})

	It("is clean", func(ctx SpecContext) {
		_, err := helm(ctx, "lint", chart, "--strict", "--set", "store.url="+storeURL)
		Expect(err).NotTo(HaveOccurred())
	})

	It("renders what kustomize renders", func(ctx SpecContext) {
		kustomized, err := cluster.Kubectl(ctx, "kustomize", filepath.Join("..", "..", "config", "overlays", "s3"))
		Expect(err).NotTo(HaveOccurred())
		want, got := withoutChoices(decode(kustomized)), withoutChoices(render(ctx, system, "--set", "store.url="+storeURL))
		Expect(cmp.Diff(want, got)).To(BeEmpty(), "what kustomize renders (-), and what Helm does (+)")
	})

	It("names its own namespace everywhere, whichever it is", func(ctx SpecContext) {
		for key, object := range render(ctx, "elsewhere", "--set", "store.url="+storeURL) {
			encoded, err := json.Marshal(object)
			Expect(err).NotTo(HaveOccurred())
			Expect(string(encoded)).NotTo(ContainSubstring(system), key)
		}
	})

	It("takes every value that it has", func(ctx SpecContext) {
		objects := render(ctx, system, "--set", strings.Join([]string{
			"store.url=file:///store", "store.volumeClaim=shared", "store.credentialsSecret=keys",
			"image.repository=registry.example.com/s", "image.tag=v9", "image.pullPolicy=Always", "image.pullSecrets[0].name=pull",
			"manager.replicas=3", "manager.drainMode=Graceful", "manager.extraArgs[0]=--drain-limit=8",
			"node.extraArgs[0]=--slots=7", "node.memoryLimit=3GiB", "node.podLabels.a=b", "node.serviceAccountAnnotations.role=r",
			"gateway.replicas=4", "gateway.url=https://streams.example.com", "gateway.service.type=LoadBalancer", "gateway.service.annotations.c=d",
			"gateway.extraArgs[0]=--max-parked=5", "networkPolicies=false", "tracing.OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318",
			"certificates=External", "gateway.access=Anonymous", "gateway.dnsNames={streams.example.com}",
		}, ","))
		var all strings.Builder
		for _, object := range objects {
			Expect(object.GetKind()).NotTo(Equal("NetworkPolicy"))
			encoded, err := json.Marshal(object)
			Expect(err).NotTo(HaveOccurred())
			all.Write(encoded)
		}
		for _, want := range []string{
			`"value":"file:///store"`, `"claimName":"shared"`, `"name":"keys"`, `"image":"registry.example.com/s/node:v9"`,
			`"value":"registry.example.com/s/manager:v9"`, `"imagePullPolicy":"Always"`, `"imagePullSecrets":[{"name":"pull"}]`,
			`"replicas":3`, `--drain-mode=Graceful`, `--drain-limit=8`, `--slots=7`, `"value":"3GiB"`, `"a":"b"`, `"role":"r"`,
			`"replicas":4`, `"gateway":"https://streams.example.com"`, `"type":"LoadBalancer"`, `"c":"d"`, `--max-parked=5`,
			`--certificates=External`, `--access=Anonymous`, `--gateway-dns-names=streams.example.com`,
		} {
			Expect(all.String()).To(ContainSubstring(want))
		}
	})

	It("brings alerts and the dashboard where they are asked for", func(ctx SpecContext) {
		objects := render(ctx, system, "--set", "store.url="+storeURL+",alerts=true,dashboard=true")
		Expect(objects).To(HaveKey("PodMonitor " + system + "/streamshift"))
		Expect(objects).To(HaveKey("PrometheusRule " + system + "/streamshift"))
		dashboard, _, err := unstructured.NestedString(objects["ConfigMap "+system+"/streamshift-dashboard"].Object, "data", "streamshift.json")
		Expect(err).NotTo(HaveOccurred())
		Expect(json.Valid([]byte(dashboard))).To(BeTrue())
	})

	DescribeTable("refuses what cannot work", func(ctx SpecContext, values, complaint string) {
		_, err := helm(ctx, "template", "streamshift", chart, "--set", values)
		Expect(err).To(MatchError(ContainSubstring(complaint)))
	},
		Entry("no store", "networkPolicies=true", "/store/url"),
		Entry("a store of no kind that there is", "store.url=http://store", "/store/url"),
		Entry("files without a volume", "store.url=file:///store", "volumeClaim"),
		Entry("a value that does not exist", "store.url=s3://a,manager.replica=2", "replica"),
		Entry("a variable that is not of OpenTelemetry", "store.url=s3://a,tracing.HOME=b", "HOME"),
		Entry("a drain mode that does not exist", "store.url=s3://a,manager.drainMode=Hard", "drainMode"))

	Describe("on a cluster", Ordered, func() {
		var (
			own  *localcluster.Cluster
			args []string
		)
		BeforeAll(func(ctx SpecContext) {
			var err error
			own, err = localcluster.Start(ctx, localcluster.Options{Progress: GinkgoWriter})
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(own.Stop)
			Expect(own.CreateNamespace(ctx, "default")).To(Succeed())
			Expect(own.CreateNamespace(ctx, "kube-public")).To(Succeed())
			args = []string{"--namespace", system, "--kubeconfig", own.Kubeconfig()}
		})

		It("is installed by one command, in an earlier version", func(ctx SpecContext) {
			notes, err := helm(ctx, append(args, "install", "streamshift", earlierChart(), "--create-namespace", "--set", "store.url="+storeURL)...)
			Expect(err).NotTo(HaveOccurred())
			Expect(notes).To(ContainSubstring("Its streams are in " + storeURL))
			Expect(own.Apply(ctx, "{apiVersion: streamshift.io/v1alpha1, kind: Stream, metadata: {name: orders, namespace: default}}")).To(Succeed())
		})

		It("brings the kinds up to date when it is upgraded", func(ctx SpecContext) {
			columns := func() string {
				GinkgoHelper()
				names, err := own.Kubectl(ctx, "get", "crd", "streams.streamshift.io", "-o", "jsonpath={.spec.versions[0].additionalPrinterColumns[*].name}")
				Expect(err).NotTo(HaveOccurred())
				return names
			}
			Expect(columns()).NotTo(HavePrefix("Node "))
			_, err := helm(ctx, append(args, "upgrade", "streamshift", chart, "--reuse-values", "--set", "manager.replicas=3")...)
			Expect(err).NotTo(HaveOccurred())
			Expect(columns()).To(HavePrefix("Node "))
		})

		It("leaves the kinds and every stream when it is uninstalled", func(ctx SpecContext) {
			_, err := helm(ctx, append(args, "uninstall", "streamshift")...)
			Expect(err).NotTo(HaveOccurred())
			left, err := own.Kubectl(ctx, "get", "streams", "--all-namespaces", "-o", "name")
			Expect(err).NotTo(HaveOccurred())
			Expect(left).To(ContainSubstring("orders"))
			gone, err := own.Kubectl(ctx, "get", "clusterroles,validatingadmissionpolicies,validatingwebhookconfigurations", "-o", "name")
			Expect(err).NotTo(HaveOccurred())
			Expect(gone).NotTo(ContainSubstring("streamshift"))
		})
	})
})

// earlierChart is a copy of the chart whose kind Stream has one column less.
func earlierChart() string {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	Expect(os.CopyFS(folder, os.DirFS(chart))).To(Succeed())
	path := filepath.Join(folder, "templates", "kinds.yaml")
	content, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	column := "    - jsonPath: .status.node\n      name: Node\n      type: string\n"
	Expect(string(content)).To(ContainSubstring(column))
	Expect(os.WriteFile(path, []byte(strings.Replace(string(content), column, "", 1)), 0o600)).To(Succeed())
	return folder
}
