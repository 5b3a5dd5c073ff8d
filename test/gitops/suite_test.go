package gitops

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/localcluster"
)

const (
	namespace = "default"
	// patience bounds a wait on a busy machine of 2 cores.
	patience = 60 * time.Second
	// reportEvery is how often nodes tell their load at most.
	reportEvery = 3 * time.Second
	// still is for how long nothing must happen where nothing is to happen.
	still = 1500 * time.Millisecond
)

var (
	cluster     *localcluster.Cluster
	streamshift *localcluster.Streamshift
	nodes       = []string{"node-a", "node-b", "node-c"}
)

func TestMain(m *testing.M) {
	os.Exit(localcluster.RunTests(m, localcluster.Options{Audit: localcluster.AuditWrites}, func(ctx context.Context, c *localcluster.Cluster) error {
		cluster = c
		var err error
		streamshift, err = c.StartStreamshift(ctx, localcluster.Layout{Nodes: nodes, NodeArgs: []string{"--load-report-interval=" + reportEvery.String()}})
		return err
	}))
}

// test is one test with its assertions, and a context that ends with it.
func test(t *testing.T) (*WithT, context.Context) {
	t.Helper()
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(patience)
	g.SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	g.SetDefaultConsistentlyDuration(still)
	return g, t.Context()
}

// apply gives manifests to "kubectl apply" and removes them at the end of the test.
func apply(t *testing.T, manifests string) {
	t.Helper()
	if err := cluster.Apply(t.Context(), manifests); err != nil {
		t.Fatal(err)
	}
	for _, object := range objects(t, manifests) {
		t.Cleanup(func() {
			if err := client.IgnoreNotFound(cluster.Client().Delete(context.Background(), object)); err != nil {
				t.Errorf("removing %s: %v", object.GetName(), err)
			}
		})
	}
}

func objects(t *testing.T, manifests string) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		found = append(found, object)
	}
	return found
}

func streamManifest(name, node string) string {
	return fmt.Sprintf(`apiVersion: streamshift.io/v1alpha1
kind: Stream
metadata: {name: %s, namespace: %s}
spec: {nodeName: %q, contentType: application/json}`, name, namespace, node)
}

func transferManifest(name, stream, target, more string) string {
	return fmt.Sprintf(`apiVersion: streamshift.io/v1alpha1
kind: StreamTransfer
metadata: {name: %s, namespace: %s}
spec: {stream: %s, target: %s%s}`, name, namespace, stream, target, more)
}

// newStream applies a stream and waits until it is open.
func newStream(t *testing.T, name, node string) {
	t.Helper()
	apply(t, streamManifest(name, node))
	mustWait(t, "--for=condition=Ready", "stream/"+name)
}

func getStream(t *testing.T, name string) *v1alpha1.Stream {
	t.Helper()
	stream := &v1alpha1.Stream{}
	if err := cluster.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, stream); err != nil {
		t.Fatal(err)
	}
	return stream
}

func getTransfer(t *testing.T, name string) *v1alpha1.StreamTransfer {
	t.Helper()
	transfer := &v1alpha1.StreamTransfer{}
	if err := cluster.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, transfer); err != nil {
		t.Fatal(err)
	}
	return transfer
}

func mustKubectl(t *testing.T, args ...string) string {
	t.Helper()
	output, err := cluster.Kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// owner returns a function that asks for the owner of a stream, for Eventually.
func owner(t *testing.T, stream string) func() string {
	return func() string { return getStream(t, stream).Status.Node }
}

// cordon cordons a node until the end of the test.
func cordon(t *testing.T, node string) {
	t.Helper()
	mustKubectl(t, "cordon", node)
	t.Cleanup(func() { uncordon(t, node) })
	mustWait(t, "--for=condition=Schedulable=false", "streamnode/"+node)
}

func uncordon(t *testing.T, node string) {
	t.Helper()
	if _, err := cluster.Kubectl(context.Background(), "uncordon", node); err != nil {
		t.Error(err)
	}
	if _, err := cluster.Kubectl(context.Background(), "wait", "--for=condition=Schedulable", "streamnode/"+node, "--timeout="+patience.String()); err != nil {
		t.Error(err)
	}
}

func mustWait(t *testing.T, what, object string) {
	t.Helper()
	mustKubectl(t, "wait", what, object, "--timeout="+patience.String())
}
