package skew

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/load"
	"github.com/streamshift/streamshift/test/localcluster"
	"github.com/streamshift/streamshift/test/timeline"
)

const (
	namespace = "default"
	// transfersAStep is how many transfers follow each change of a component's version.
	transfersAStep = 2
	patience       = 90 * time.Second
)

// world is a cluster whose components change their versions.
type world struct {
	t           *testing.T
	cluster     *localcluster.Cluster
	streamshift *localcluster.Streamshift
	programs    programs
	transfers   int
}

// TestComponentsOfTwoVersionsWorkTogether upgrades one component after the other and takes some of them back, in an order that has
// every component meet both versions of every other one, always with a transfer in flight.
func TestComponentsOfTwoVersionsWorkTogether(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	old := buildEarlier(t.Context(), t, root)
	if err := localcluster.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, programs: newPrograms(t, old, filepath.Join(root, "bin"))}
	w.start()
	w.judgeStorage()
	run := w.startLoad()
	w.transfer(run)
	steps := []struct {
		component, name string
		to              version
	}{
		{"manager", "manager", today}, {"node", "node-a", today}, {"node", "node-b", today}, // the order that an upgrade has
		{"manager", "manager", before}, // today's agents with the manager of before
	}
	for _, step := range steps {
		t.Logf("%s becomes of %s", step.name, step.to)
		if step.component == "manager" {
			key := w.ask(run) // in flight
			w.change(w.streamshift.Manager, step.component, step.to)
			w.await(run, key)
		} else {
			w.change(w.streamshift.Nodes[step.name], step.component, step.to)
		}
		for range transfersAStep {
			w.transfer(run)
		}
	}
	w.judge(run)

	// There is one gateway, and while it is away nobody is answered: the load rests meanwhile.
	t.Log("gateway becomes of today, then node-a of before")
	w.programs.choose(t, "gateway", today)
	w.must(w.streamshift.Gateway.Restart(t.Context()))
	run = w.startLoadOn(w.newStream("behind-todays-gateway"))
	w.transfer(run)
	w.change(w.streamshift.Nodes["node-a"], "node", before) // today's gateway with an agent of before
	for range transfersAStep {
		w.transfer(run)
	}
	w.judge(run)
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) start() {
	w.t.Helper()
	var err error
	w.cluster, err = localcluster.Start(w.t.Context(), localcluster.Options{Programs: w.programs.folder})
	w.must(err)
	w.t.Cleanup(func() {
		if w.t.Failed() {
			w.showLogs()
		}
		if err := w.cluster.Stop(); err != nil {
			w.t.Error(err)
		}
	})
	w.streamshift, err = w.cluster.StartStreamshift(w.t.Context(), localcluster.Layout{
		Nodes: []string{"node-a", "node-b"}, NodeArgs: []string{"--shutdown=Transfer"},
	})
	w.must(err)
}

// judgeStorage demands that objects of each kind are stored in the one version that there is.
func (w *world) judgeStorage() {
	w.t.Helper()
	definitions := &apiextensionsv1.CustomResourceDefinitionList{}
	w.must(w.cluster.Client().List(w.t.Context(), definitions))
	stored := map[string][]string{}
	for i := range definitions.Items {
		stored[definitions.Items[i].Name] = definitions.Items[i].Status.StoredVersions
	}
	want := map[string][]string{}
	for _, kind := range []string{"streams", "streamnodes", "streamtransfers", "streamrebalances"} {
		want[kind+"."+v1alpha1.GroupVersion.Group] = []string{v1alpha1.GroupVersion.Version}
	}
	if diff := cmp.Diff(want, stored); diff != "" {
		w.t.Errorf("stored versions (-want +got):\n%s", diff)
	}
}

func (w *world) showLogs() {
	const lines = 25
	for _, process := range w.cluster.Processes() {
		log, err := process.Log()
		if err != nil {
			log = err.Error()
		}
		all := strings.Split(strings.TrimSpace(log), "\n")
		w.t.Logf("the end of the log of %s:\n%s", process.Name(), strings.Join(all[max(0, len(all)-lines):], "\n"))
	}
}

// newStream makes a stream and returns its name once it is served.
func (w *world) newStream(name string) string {
	w.t.Helper()
	stream := &v1alpha1.Stream{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.StreamSpec{ContentType: "application/json"}}
	w.must(w.cluster.Client().Create(w.t.Context(), stream))
	_, err := w.cluster.Kubectl(w.t.Context(), "wait", "--for=condition=Ready", "stream/"+name, "--timeout="+patience.String())
	w.must(err)
	return name
}

func (w *world) startLoad() *loaded { return w.startLoadOn(w.newStream("skewed")) }

// loaded is a stream under load.
type loaded struct {
	*load.Run

	stream string
}

func (w *world) startLoadOn(stream string) *loaded {
	w.t.Helper()
	run := load.Start(w.t.Context(), load.Options{
		URL:       w.streamshift.Gateway.URL() + "/v1/stream/" + namespace + "/" + stream,
		Producers: 1, Appenders: 1, Readers: 1, Pause: 2 * time.Millisecond,
	})
	return &loaded{run, stream}
}

// ask makes a transfer of the stream to the node that does not own it, and returns its key.
func (w *world) ask(run *loaded) client.ObjectKey {
	w.t.Helper()
	stream := &v1alpha1.Stream{}
	w.must(w.cluster.Client().Get(w.t.Context(), client.ObjectKey{Namespace: namespace, Name: run.stream}, stream))
	target := "node-a"
	if stream.Status.Node == target {
		target = "node-b"
	}
	w.transfers++
	transfer := &v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("skew-%d", w.transfers)},
		Spec:       v1alpha1.StreamTransferSpec{Stream: run.stream, Target: target},
	}
	w.must(w.cluster.Client().Create(w.t.Context(), transfer))
	return client.ObjectKeyFromObject(transfer)
}

// transfer transfers the stream, and waits until that has succeeded.
func (w *world) transfer(run *loaded) {
	w.t.Helper()
	w.await(run, w.ask(run))
}

// await waits until a transfer has succeeded, and the stream is served.
func (w *world) await(run *loaded, key client.ObjectKey) {
	w.t.Helper()
	transfer, err := timeline.AwaitEnd(w.t.Context(), w.cluster.Client(), key)
	w.must(err)
	if transfer.Status.Phase != v1alpha1.TransferSucceeded {
		w.t.Fatalf("transfer %s: %+v", transfer.Name, transfer.Status)
	}
	w.awaitAppends(run)
}

// awaitAppends waits until some more appends were acknowledged.
func (w *world) awaitAppends(run *loaded) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for want := run.Acknowledged() + 10; run.Acknowledged() < want; {
		select {
		case <-ctx.Done():
			w.t.Fatalf("no append is acknowledged any more; failed requests: %v", run.Faults())
		case <-tick.C:
		}
	}
}

// change has a process be of another version. An agent has its streams transferred away before it ends, so a transfer is in flight.
func (w *world) change(process *localcluster.Process, component string, to version) {
	w.t.Helper()
	w.programs.choose(w.t, component, to)
	w.must(process.Restart(w.t.Context()))
	if component == "node" {
		w.must(w.cluster.AwaitNode(w.t.Context(), process.Name()))
	}
}

// judge ends the load: nothing was lost, and no request failed.
func (w *world) judge(run *loaded) {
	w.t.Helper()
	tally, err := run.Stop(w.t.Context())
	w.must(err)
	w.t.Logf("%+v", tally)
	if !tally.Clean() {
		w.t.Errorf("%+v, failed requests: %v", tally, run.Faults())
	}
}
