package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/load"
	"github.com/streamshift/streamshift/test/localcluster"
	"github.com/streamshift/streamshift/test/timeline"
)

const (
	namespace = "default"
	// logLines is how much of each process's log a failed spec shows.
	logLines = 40
	// slots of each node: enough for what another one had.
	slots = 2 * drainedStreams
	// patience bounds a wait on a busy machine of 2 cores.
	patience = 60 * time.Second
)

var (
	cluster     *localcluster.Cluster
	streamshift *localcluster.Streamshift
	nodes       = []string{"node-a", "node-b", "node-c"}
)

func TestEndToEnd(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "End to end")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	cluster, err = localcluster.Start(ctx, localcluster.Options{Audit: localcluster.AuditWrites, Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cluster.Stop)
	startCollector(ctx)
	streamshift, err = cluster.StartStreamshift(ctx, localcluster.Layout{Nodes: nodes, Slots: slots})
	Expect(err).NotTo(HaveOccurred())
})

// A spec before may have kept the API server away for so long that the manager has lost its lock and was started again.
var _ = BeforeEach(func(ctx SpecContext) {
	Expect(cluster.AwaitReady(ctx)).To(Succeed())
})

// Nodes and gateways never end by themselves, whatever a spec does to the others.
var _ = AfterEach(func() {
	Expect(streamshift.Gateway.Restarts()).To(BeZero(), "the gateway ended by itself")
	for name, node := range streamshift.Nodes {
		Expect(node.Restarts()).To(BeZero(), "%s ended by itself", name)
	}
})

var _ = JustAfterEach(func() {
	if !CurrentSpecReport().Failed() {
		return
	}
	for _, process := range cluster.Processes() {
		log, err := process.Log()
		if err != nil {
			log = err.Error()
		}
		lines := strings.Split(strings.TrimSpace(log), "\n")
		lines = lines[max(0, len(lines)-logLines):]
		GinkgoWriter.Printf("\n--- the end of the log of %s\n%s\n", process.Name(), strings.Join(lines, "\n"))
	}
})

// newStream makes a stream on a node that the manager chooses; see createStream.
func newStream(ctx context.Context, name string) *v1alpha1.Stream {
	GinkgoHelper()
	stream := &v1alpha1.Stream{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.StreamSpec{ContentType: "application/json"},
	}
	createStream(ctx, stream)
	return stream
}

// createStream makes the stream and waits until a node serves it. It is deleted at the end of the spec.
func createStream(ctx context.Context, stream *v1alpha1.Stream) {
	GinkgoHelper()
	Expect(cluster.Client().Create(ctx, stream)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		Expect(cluster.Client().Delete(ctx, stream)).To(Succeed())
	})
	_, err := cluster.Kubectl(ctx, "wait", "--for=condition=Ready", "stream/"+stream.Name, "--timeout="+patience.String())
	Expect(err).NotTo(HaveOccurred())
	Expect(cluster.Client().Get(ctx, client.ObjectKeyFromObject(stream), stream)).To(Succeed())
}

// newTransfer asks for a transfer and returns its key.
func newTransfer(ctx context.Context, stream, target, name string) client.ObjectKey {
	GinkgoHelper()
	transfer := &v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.StreamTransferSpec{Stream: stream, Target: target},
	}
	Expect(cluster.Client().Create(ctx, transfer)).To(Succeed())
	return client.ObjectKeyFromObject(transfer)
}

// startLoad appends to the stream and reads along until stopLoad.
func startLoad(ctx context.Context, stream string) *load.Run {
	GinkgoHelper()
	run := load.Start(ctx, load.Options{
		URL:       streamshift.Gateway.URL() + "/v1/stream/" + namespace + "/" + stream,
		Producers: 1,
		Appenders: 1,
		Readers:   1,
		Pause:     time.Millisecond,
	})
	awaitAppends(ctx, run, 10)
	return run
}

// awaitAppends waits until that many more appends were acknowledged.
func awaitAppends(ctx context.Context, run *load.Run, more int) {
	GinkgoHelper()
	want := run.Acknowledged() + more
	Eventually(ctx, run.Acknowledged).WithTimeout(patience).WithPolling(5*time.Millisecond).
		Should(BeNumerically(">=", want), func() string { return fmt.Sprintf("failed requests: %v", run.Faults()) })
}

// stopLoad ends the load and shows its tally.
func stopLoad(ctx context.Context, run *load.Run) load.Tally {
	GinkgoHelper()
	tally, err := run.Stop(ctx)
	Expect(err).NotTo(HaveOccurred(), "failed requests: %v", run.Faults())
	AddReportEntry("tally", fmt.Sprintf("%+v\n%s", tally, strings.Join(run.Faults(), "\n")))
	return tally
}

func awaitTransfer(ctx context.Context, run *load.Run, key client.ObjectKey) timeline.Timeline {
	GinkgoHelper()
	line, err := timeline.Await(ctx, cluster.Client(), run, key)
	Expect(err).NotTo(HaveOccurred())
	return line
}

// awaitAccepted waits until the stream's register holds the transfer, or held it.
func awaitAccepted(ctx context.Context, stream string, key client.ObjectKey) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega, ctx context.Context) {
		var current v1alpha1.Stream
		g.Expect(cluster.Client().Get(ctx, client.ObjectKey{Namespace: namespace, Name: stream}, &current)).To(Succeed())
		pending, last := current.Status.PendingTransfer, current.Status.LastTransfer
		g.Expect(pending != nil && pending.Name == key.Name || last != nil && last.Name == key.Name).To(BeTrue(), "%+v", current.Status)
	}).WithTimeout(patience).WithPolling(time.Millisecond).Should(Succeed())
}

// awaitSuccess waits for the end of a transfer, whether or not all its steps were timed: those of a process that ended are not.
func awaitSuccess(ctx context.Context, key client.ObjectKey) {
	GinkgoHelper()
	transfer, err := timeline.AwaitEnd(ctx, cluster.Client(), key)
	Expect(err).NotTo(HaveOccurred())
	Expect(transfer.Status.Phase).To(Equal(v1alpha1.TransferSucceeded), "%v", transfer.Status.Conditions)
}

// otherNode returns a node that is not the one given: the next one in order.
func otherNode(node string) string {
	for i, name := range nodes {
		if name == node {
			return nodes[(i+1)%len(nodes)]
		}
	}
	return nodes[0]
}
