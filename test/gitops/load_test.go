package gitops

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

func ask(t *testing.T, method, stream, query, body string) string {
	t.Helper()
	url := streamshift.Gateway.URL() + "/v1/stream/" + namespace + "/" + stream + query
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusBadRequest {
		t.Fatalf("%s %s: %s, %v: %s", method, url, response.Status, err, text)
	}
	return string(text)
}

func TestANodeTellsTheLoadOfItsStreams(t *testing.T) {
	g, ctx := test(t)
	newStream(t, "loaded", "node-a")
	ended := make(chan struct{})
	body := `[` + strings.Repeat(`"0123456789abcdef",`, 500) + `"end"]`
	go func() {
		defer close(ended)
		for began := time.Now(); time.Since(began) < 4*reportEvery && !t.Failed(); {
			ask(t, http.MethodPost, "loaded", "", body)
		}
	}()
	load := func() *v1alpha1.NodeLoad {
		node := &v1alpha1.StreamNode{}
		g.Expect(cluster.Client().Get(ctx, client.ObjectKey{Name: "node-a"}, node)).To(Succeed())
		return node.Status.Load
	}
	g.Eventually(load).Should(And(Not(BeNil()), HaveField("BytesPerSecond", BeNumerically(">", 1000)), HaveField("AppendMicros", BeNumerically(">", 0)),
		HaveField("Streams", ContainElement(HaveField("Stream", "default/loaded")))))
	<-ended
	encoded, err := yaml.Marshal(read(t, "StreamNode", "node-a").Object)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(encoded)).To(BeNumerically("<", 4<<10), "T58: an object stays small")

	if os.Getenv("LONG") == "" {
		t.Skip("that an idle node comes to rest takes two minutes: LONG=1 waits for it")
	}
	const rest = 3 * reportEvery
	g.Eventually(load).WithTimeout(2 * time.Minute).Should(BeNil())
	version := read(t, "StreamNode", "node-a").GetResourceVersion()
	g.Consistently(func() string { return read(t, "StreamNode", "node-a").GetResourceVersion() }).WithTimeout(rest).Should(Equal(version))
}

// F7: a stream that was moved by one way was treated as deleted, by another one as moved.
func TestWhateverMovesAStreamItReadsTheSameAfterwards(t *testing.T) {
	g, _ := test(t)
	newStream(t, "same", "node-a")
	for range 20 {
		ask(t, http.MethodPost, "same", "", `["x"]`)
	}
	want := ask(t, http.MethodGet, "same", "?offset=-1", "")
	g.Expect(strings.Count(want, "x")).To(Equal(20))
	same := func(how string) {
		t.Helper()
		mustWait(t, "--for=condition=Ready", "stream/same")
		g.Expect(ask(t, http.MethodGet, "same", "?offset=-1", "")).To(Equal(want), how)
	}
	apply(t, streamManifest("same", "node-b"))
	g.Eventually(owner(t, "same")).Should(Equal("node-b"))
	same("by spec.nodeName")
	apply(t, streamManifest("same", ""))
	apply(t, transferManifest("same-by-hand", "same", "node-a", ""))
	mustWait(t, "--for=condition=Ready", "streamtransfer/same-by-hand")
	same("by a transfer")
	cordon(t, "node-a")
	g.Eventually(owner(t, "same")).ShouldNot(Equal("node-a"))
	same("by a drain")
	uncordon(t, "node-a")
	before := getStream(t, "same").Status.Node
	apply(t, streamManifest("same-2", before))
	apply(t, streamManifest("same-3", before))
	mustWait(t, "--for=condition=Ready", "stream/same-2")
	mustWait(t, "--for=condition=Ready", "stream/same-3")
	apply(t, rebalanceManifest("same", "approval: Auto, coolDownSeconds: 0"))
	mustWait(t, "--for=condition=Ready", "streamrebalance/same")
	g.Expect(owner(t, "same")()).NotTo(Equal(before))
	same("by a rebalance")
	killed := owner(t, "same")()
	g.Expect(streamshift.Nodes[killed].Kill()).To(Succeed())
	t.Cleanup(func() {
		if err := errors.Join(streamshift.Nodes[killed].Restart(context.Background()), cluster.AwaitNode(context.Background(), killed)); err != nil {
			t.Error(err)
		}
	})
	apply(t, strings.Replace(transferManifest("same-taken", "same", otherThan(killed), ""), "spec: {", "spec: {force: true, ", 1))
	mustWait(t, "--for=condition=Ready", "streamtransfer/same-taken")
	same("by a takeover")
}
