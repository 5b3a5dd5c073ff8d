package secure

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8s "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/load"
	"github.com/streamshift/streamshift/test/timeline"
)

var _ = Describe("Through TLS, with tokens", func() {
	It("a stream is transferred to and fro under load, and certificates are renewed meanwhile, and nobody notices", func(ctx SpecContext) {
		stream := newStream(ctx, "quiet")
		run := load.Start(ctx, load.Options{
			URL: streamshift.Gateway.URL() + "/v1/stream/" + namespace + "/" + stream.Name, Producers: 1, Appenders: 1, Readers: 1, Pause: time.Millisecond,
			Client: &http.Client{Transport: cluster.StreamsTransport(writer), Timeout: patience},
		})
		Expect(cluster.Client().Get(ctx, k8s.ObjectKeyFromObject(stream), stream)).To(Succeed())
		target := map[string]string{"node-a": "node-b", "node-b": "node-a"}
		at := stream.Status.Node
		for _, name := range []string{"there", "back", "there-again"} {
			at = target[at]
			transfer := &v1alpha1.StreamTransfer{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.StreamTransferSpec{Stream: stream.Name, Target: at},
			}
			Expect(cluster.Client().Create(ctx, transfer)).To(Succeed())
			ended, err := timeline.AwaitEnd(ctx, cluster.Client(), k8s.ObjectKeyFromObject(transfer))
			Expect(err).NotTo(HaveOccurred())
			Expect(ended.Status.Phase).To(Equal(v1alpha1.TransferSucceeded), "%v", ended.Status.Conditions)
		}
		tally, err := run.Stop(ctx)
		Expect(err).NotTo(HaveOccurred(), "failed requests: %v", run.Faults())
		Expect(tally.Failed).To(BeZero(), "failed requests: %v", run.Faults())
		AddReportEntry("tally", tally)
	})
})
