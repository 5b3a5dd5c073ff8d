//go:build linux

package cluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/load"
	"github.com/streamshift/streamshift/test/timeline"
)

// pause of each writer between two appends: the machine's two processors run a whole cluster, too.
const pause = 20 * time.Millisecond

// createStream makes the stream and waits until a node serves it.
func createStream(ctx context.Context, name string, spec v1alpha1.StreamSpec) *v1alpha1.Stream {
	GinkgoHelper()
	spec.ContentType = "application/json"
	stream := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
	Expect(api.Create(ctx, stream)).To(Succeed())
	kubectl(ctx, "wait", "--for=condition=Ready", "stream/"+name, "--timeout="+patience.String())
	Expect(api.Get(ctx, client.ObjectKeyFromObject(stream), stream)).To(Succeed())
	return stream
}

// transfer has a stream transferred, and waits until it succeeded.
func transfer(ctx context.Context, stream, target, name string) {
	GinkgoHelper()
	asked := &v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.StreamTransferSpec{Stream: stream, Target: target},
	}
	// A call of the webhook fails where it was on its way to a manager that has just died with its node; whoever asks does so again.
	Eventually(ctx, func() error {
		err := api.Create(ctx, asked)
		if err != nil && !apierrors.IsInternalError(err) {
			return StopTrying("the transfer is refused").Wrap(err)
		}
		return err //nolint:wrapcheck // as it is
	}).WithTimeout(patience).WithPolling(200 * time.Millisecond).Should(Succeed())
	ended, err := timeline.AwaitEnd(ctx, api, client.ObjectKeyFromObject(asked))
	Expect(err).NotTo(HaveOccurred())
	Expect(ended.Status.Phase).To(Equal(v1alpha1.TransferSucceeded), "%v", ended.Status.Conditions)
}

// ownerOf returns the node that owns the stream.
func ownerOf(ctx context.Context, name string) string {
	GinkgoHelper()
	stream := &v1alpha1.Stream{}
	Expect(api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, stream)).To(Succeed())
	return stream.Status.Node
}

// ownedBy returns the streams of the node.
func ownedBy(ctx context.Context, node string) []string {
	GinkgoHelper()
	streams := &v1alpha1.StreamList{}
	Expect(api.List(ctx, streams)).To(Succeed())
	var owned []string
	for i := range streams.Items {
		if streams.Items[i].Status.Node == node {
			owned = append(owned, streams.Items[i].Name)
		}
	}
	return owned
}

// clientsOf are clients of several streams, each with writers of both kinds and a reader, through the Service.
type clientsOf struct {
	names []string
	runs  []*load.Run
}

// startClients has each of the streams written and read until stop.
func startClients(ctx context.Context, streams ...string) *clientsOf {
	GinkgoHelper()
	clients := &clientsOf{names: streams}
	gateway := findGateway(ctx, 3*len(streams))
	for _, name := range streams {
		clients.runs = append(clients.runs, load.Start(ctx, load.Options{
			URL:       gateway.url + "/v1/stream/" + namespace + "/" + name,
			Producers: 1, Appenders: 1, Readers: 1, Pause: pause, Client: gateway.http,
		}))
	}
	clients.awaitAppends(ctx, 10)
	return clients
}

// awaitAppends waits until that many more appends to each of the streams were acknowledged.
func (c *clientsOf) awaitAppends(ctx context.Context, more int) {
	GinkgoHelper()
	for _, run := range c.runs {
		want := run.Acknowledged() + more
		Eventually(ctx, run.Acknowledged).WithTimeout(patience).WithPolling(20*time.Millisecond).
			Should(BeNumerically(">=", want), func() string { return fmt.Sprintf("failed requests: %v", run.Faults()) })
	}
}

// stop ends the clients, after some more appends, judges what became of every record, and returns the first failed requests, too.
func (c *clientsOf) stop(ctx context.Context) (total load.Tally, faults []string) {
	GinkgoHelper()
	c.awaitAppends(ctx, 10)
	for i, run := range c.runs {
		tally, err := run.Stop(ctx)
		Expect(err).NotTo(HaveOccurred(), "%s: failed requests: %v", c.names[i], run.Faults())
		total.Add(tally)
		for _, fault := range run.Faults() {
			faults = append(faults, c.names[i]+" "+fault)
		}
	}
	AddReportEntry("clients", fmt.Sprintf("%+v\n%s", total, strings.Join(faults, "\n")))
	return total, faults
}

// expectExact demands that no request failed and every record is where it belongs.
func (c *clientsOf) expectExact(ctx context.Context) {
	GinkgoHelper()
	tally, faults := c.stop(ctx)
	Expect(tally.Clean()).To(BeTrue(), "%+v\n%s", tally, strings.Join(faults, "\n"))
}

// expectNothingLost demands that every record is where it belongs, whichever requests failed.
func (c *clientsOf) expectNothingLost(ctx context.Context) {
	GinkgoHelper()
	tally, _ := c.stop(ctx)
	tally.Failed = 0
	Expect(tally.Clean()).To(BeTrue(), "%+v", tally)
}
