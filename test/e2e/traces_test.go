package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/collector"
)

// spans takes what every process of the suite records.
var spans *collector.Collector

const (
	// clientsTrace is the trace of a client that traces its own requests; secret is in what it appends.
	clientsTrace = "0af7651916cd43dd8448eb211c80319c"
	secret       = "Xyzzy-is-nobodys-business"
)

// startCollector has every process that is started from now on send its spans here.
func startCollector(ctx context.Context) {
	GinkgoHelper()
	var err error
	spans, err = collector.Start(ctx)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(spans.Stop)
	GinkgoT().Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", spans.URL())
	GinkgoT().Setenv("OTEL_BSP_SCHEDULE_DELAY", "100") // milliseconds
}

// appendTraced appends as a client that traces its requests.
func appendTraced(ctx context.Context, stream string) error {
	url := streamshift.Gateway.URL() + "/v1/stream/" + namespace + "/" + stream + "?note=" + secret
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader([]byte(`"`+secret+`"`)))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Traceparent", "00-"+clientsTrace+"-b7ad6b7169203331-01")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	_ = response.Body.Close()
	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("appending: %s", response.Status)
	}
	return nil
}

var _ = Describe("Traces", func() {
	It("have one trace a transfer, by manager, source and target, and one span a request that it holds up", func(ctx SpecContext) {
		stream := newStream(ctx, "traced")
		source, target := stream.Status.Node, otherNode(stream.Status.Node)

		// A client appends all the time, so that requests meet the transfer.
		appending, stop := context.WithCancel(ctx)
		defer stop()
		ended := make(chan error, 1)
		go func() {
			for appending.Err() == nil {
				if err := appendTraced(ctx, stream.Name); err != nil {
					ended <- err
					return
				}
			}
			ended <- nil
		}()
		key := newTransfer(ctx, stream.Name, target, "traced")
		awaitSuccess(ctx, key)
		stop()
		Expect(<-ended).To(Succeed())
		transfer := &v1alpha1.StreamTransfer{}
		Expect(cluster.Client().Get(ctx, key, transfer)).To(Succeed())
		id := strings.ReplaceAll(string(transfer.UID), "-", "")

		want := []string{
			"streamshift-manager: accept", "streamshift-manager: queue", "streamshift-manager: settle", "streamshift-manager: transfer",
			"streamshift-node " + source + ": close", "streamshift-node " + source + ": complete", "streamshift-node " + source + ": drain",
			"streamshift-node " + source + ": flush", "streamshift-node " + source + ": transfer at source",
			"streamshift-node " + target + ": open", "streamshift-node " + target + ": record", "streamshift-node " + target + ": transfer at target",
		}
		slices.Sort(want)
		Eventually(ctx, func() []string { return namesOf(spans.Trace(id)) }).WithTimeout(patience).Should(Equal(want))
		judgeTransfer(spans.Trace(id))

		var held []collector.Span
		Eventually(ctx, func(g Gomega) {
			held = spans.Trace(clientsTrace)
			names := namesOf(held)
			g.Expect(names).To(ContainElement("streamshift-gateway: request held"))
		}).WithTimeout(patience).Should(Succeed())
		for _, span := range held {
			Expect(span.Links).To(Equal([]string{id}), "%+v", span)
		}
		everything, err := json.Marshal(append(held, spans.Trace(id)...))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(everything)).NotTo(ContainSubstring(secret))
		AddReportEntry("spans", describeTrace(append(spans.Trace(id), held...)))
		Expect(client.IgnoreNotFound(cluster.Client().Delete(ctx, transfer))).To(Succeed())
	}, SpecTimeout(2*patience))
})

// namesOf returns who recorded what, in order.
func namesOf(list []collector.Span) []string {
	var names []string
	for _, span := range list {
		who := span.Service
		if who == "streamshift-node" {
			who += " " + span.Instance
		}
		names = append(names, who+": "+span.Name)
	}
	slices.Sort(names)
	return names
}

// judgeTransfer demands that the spans are one tree, and in order.
func judgeTransfer(list []collector.Span) {
	GinkgoHelper()
	byName, byID := map[string]collector.Span{}, map[string]collector.Span{}
	for _, span := range list {
		byName[span.Name], byID[span.ID] = span, span
		Expect(span.Failed).To(BeFalse(), span.Name)
	}
	Expect(byID).To(HaveLen(len(list)), "two spans have one id")
	for name, parent := range map[string]string{
		"transfer": "", "queue": "transfer", "accept": "transfer", "settle": "transfer", "transfer at source": "transfer",
		"transfer at target": "transfer", "drain": "transfer at source", "flush": "drain", "close": "drain", "complete": "transfer at source",
		"open": "transfer at target", "record": "transfer at target",
	} {
		Expect(byID[byName[name].Parent].Name).To(Equal(parent), "the parent of %s", name)
	}
	for _, span := range list {
		Expect(span.Ended.Before(span.Begun)).To(BeFalse(), span.Name)
		if parent, has := byID[span.Parent]; has {
			Expect(span.Begun.Before(parent.Begun)).To(BeFalse(), "%s begins before %s", span.Name, parent.Name)
			if span.Service != parent.Service {
				continue // the manager may record the outcome before the target has the answer to what it wrote
			}
			Expect(span.Ended.After(parent.Ended)).To(BeFalse(), "%s ends after %s", span.Name, parent.Name)
		}
	}
	order := []string{"queue", "flush", "close", "complete", "open", "record"}
	for i, name := range order[1:] {
		Expect(byName[name].Begun.Before(byName[order[i]].Begun)).To(BeFalse(), "%s begins before %s", name, order[i])
	}
}

func describeTrace(list []collector.Span) string {
	slices.SortFunc(list, func(a, b collector.Span) int { return a.Begun.Compare(b.Begun) })
	lines := make([]string, 0, len(list))
	for _, span := range list {
		lines = append(lines, fmt.Sprintf("%s +%-10s %-20s %-8s %s %v", span.Begun.Format("05.000000"), span.Ended.Sub(span.Begun), span.Service, span.Instance, span.Name, span.Attributes))
	}
	return strings.Join(lines, "\n")
}
