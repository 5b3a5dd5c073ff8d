package kubectlstream

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
)

// world is a cluster of stored objects without anybody who acts on them, and somebody who types commands.
type world struct {
	client client.WithWatch
	env    map[string]string
	input  string
	// now is the time of the commands; it stands still unless a test says otherwise.
	now func() time.Time
	ids int
}

// newID returns another identity each time: under one that was there before, an append counts as repeated.
func (w *world) newID() string {
	w.ids++
	return fmt.Sprint("id-", w.ids)
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	t.Setenv("KUBECONFIG", t.TempDir()+"/none")
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.Stream{}, &v1alpha1.StreamNode{}, &v1alpha1.StreamTransfer{}).
		WithIndex(&v1alpha1.Stream{}, "status.node", func(o client.Object) []string { return []string{o.(*v1alpha1.Stream).Status.Node} }).
		WithIndex(&v1alpha1.StreamTransfer{}, "spec.stream", func(o client.Object) []string { return []string{o.(*v1alpha1.StreamTransfer).Spec.Stream} })
	return &world{client: c.Build(), env: map[string]string{}, now: func() time.Time { return noon }}
}

// result is what somebody sees of a command.
type result struct {
	Status   Status
	Out, Err string
}

func (w *world) run(t *testing.T, args ...string) result {
	t.Helper()
	return w.runFor(t.Context(), args...)
}

func (w *world) runFor(ctx context.Context, args ...string) result {
	var out, complaint strings.Builder
	env := Environment{
		IOStreams:     genericiooptions.IOStreams{In: strings.NewReader(w.input), Out: &out, ErrOut: &complaint},
		TerminalWidth: func() int { return 0 },
		Now:           w.now,
		NewID:         w.newID,
		Getenv:        func(name string) string { return w.env[name] },
	}
	status := execute(ctx, w.accessOf(env), args)
	return result{status, out.String(), complaint.String()}
}

func (w *world) accessOf(env Environment) *access {
	a := newAccess(env)
	a.connect = func(*genericclioptions.ConfigFlags) (client.WithWatch, error) { return w.client, nil }
	return a
}

// fixture is two nodes, a Kubernetes node for one of them, two streams and a transfer that has not ended.
func fixture() []client.Object {
	return []client.Object{
		new(openStream("orders")), new(openStream("x--adk6us1f9tp68pbiec")), new(readyNode("node-a")), new(readyNode("node-b")),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a"}},
		transferOf(condition.False(v1alpha1.ConditionReady, v1alpha1.ReasonAccepted, "Waiting.")),
	}
}

func TestWhatCannotBePrintedIsAnErrorThatBlamesNoServer(t *testing.T) {
	for _, format := range []string{"", "wide", "name", "yaml"} {
		t.Run(format, func(t *testing.T) {
			full, err := os.Open(os.DevNull) // for reading: a write fails
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = full.Close() }()
			w := newWorld(t, fixture()...)
			var complaint strings.Builder
			env := Environment{IOStreams: genericiooptions.IOStreams{Out: full, ErrOut: &complaint}, Now: w.now, Getenv: func(string) string { return "" }}
			if status := execute(t.Context(), w.accessOf(env), []string{"list", "-o", format}); status != StatusFailed {
				t.Errorf("exit status %d, want %d", status, StatusFailed)
			}
			if !strings.HasPrefix(complaint.String(), "error: printing ") || strings.Contains(complaint.String(), "server") {
				t.Errorf("said %q", complaint.String())
			}
		})
	}
}

//nolint:dupword // tables repeat words
func TestCommands(t *testing.T) {
	const notThere = `error: there is no stream "nobody" in namespace "default"; there are: Shop/Orders, orders (-n chooses another namespace)` + "\n"
	const noNode = `error: node "node-z" is not registered with Streamshift; the nodes that are: node-a, node-b` + "\n"
	for name, c := range map[string]struct {
		args []string
		want result
	}{
		"list": {[]string{"list"}, result{Out: `
NAME          NODE     EPOCH   STATE   TRANSFER   READY   AGE
orders        node-a   7       Open    <none>     True    60m
Shop/Orders   node-a   7       Open    <none>     True    60m
`}},
		"list names":             {[]string{"list", "-o", "name"}, result{Out: "\nstream.streamshift.io/orders\nstream.streamshift.io/x--adk6us1f9tp68pbiec\n"}},
		"list by a path":         {[]string{"list", "-o", "jsonpath={.items[*].status.node}"}, result{Out: "\nnode-a node-a"}},
		"list of one node":       {[]string{"list", "--node", "node-a", "--no-headers", "-l", "!team"}, result{Out: "\norders        node-a   7     Open   <none>   True   60m\nShop/Orders   node-a   7     Open   <none>   True   60m\n"}},
		"list of another node":   {[]string{"list", "--node", "node-b"}, result{Err: "No streams found in namespace default.\n"}},
		"list of nothing as XML": {[]string{"list", "-o", "xml"}, result{1, "", `error: unable to match a printer suitable for the output format "xml", allowed formats are: go-template,go-template-file,json,jsonpath,jsonpath-as-json,jsonpath-file,kyaml,name,template,templatefile,wide,yaml` + "\n"}},
		"list of no selector":    {[]string{"list", "-l", "=,="}, result{1, "", "error: reading --selector \"=,=\": found '=', expected: !, identifier, or 'end of string'\n"}},
		"nodes": {[]string{"nodes"}, result{Out: `
NAME     READY   SCHEDULABLE   DRAIN    STREAMS   INBOUND   SLOTS   AGE
node-a   True    True          <none>   40        2         100     120m
node-b   True    True          <none>   40        2         100     120m
`}},
		"top":                   {[]string{"top", "--no-headers"}, result{Out: "\nnode-a   0     0     <none>   40    2     100   42%\nnode-b   0     0     <none>   40    2     100   42%\n"}},
		"top of streams":        {[]string{"top", "streams"}, result{Err: "No node reports any load.\n"}},
		"top of something else": {[]string{"top", "pods"}, result{1, "", "error: invalid argument \"pods\" for \"kubectl stream top\"\n"}},
		"status": {[]string{"status", "orders"}, result{Out: `
Stream:     default/orders
Owner:      node-a
Epoch:      7
State:      Open for 60s (since 2026-03-01T11:59:00Z)
Waits for:  transfer move to node-b: Waiting
`}},
		"status of a client's name, as a path": {[]string{"status", "Shop/Orders", "-o", "jsonpath={.metadata.name}"}, result{Out: "\nx--adk6us1f9tp68pbiec"}},
		"status of nobody":                     {[]string{"status", "nobody"}, result{1, "", notThere}},
		"status without a name": {[]string{"status"}, result{1, "",
			"error: kubectl stream status takes 1 argument(s), NAME, and got 0: see kubectl stream status --help\n"}},
		"a flag that nobody knows": {[]string{"status", "orders", "--loud"}, result{1, "",
			"error: unknown flag: --loud (kubectl stream status --help tells how to use it)\n"}},
		"a command that nobody knows":  {[]string{"move", "orders"}, result{1, "", "error: unknown command \"move\" for \"kubectl stream\"\n"}},
		"transfer to nowhere":          {[]string{"transfer", "orders", "--to", "node-z"}, result{1, "", noNode}},
		"transfer of nobody":           {[]string{"transfer", "nobody", "--to", "node-b"}, result{1, "", notThere}},
		"transfer without a target":    {[]string{"transfer", "orders"}, result{1, "", "error: give --to NODE, the node that shall own the stream: kubectl stream nodes lists them\n"}},
		"transfer to the owner":        {[]string{"transfer", "orders", "--to", "node-a"}, result{Out: "\nstream/orders is on node-a already, at epoch 7\n"}},
		"transfer, half a second":      {[]string{"transfer", "orders", "--to", "node-b", "--deadline", "500ms"}, result{1, "", "error: --deadline 500ms: use whole seconds, at least one\n"}},
		"transfer, tried out":          {[]string{"transfer", "orders", "--to", "node-b", "--name", "try", "--dry-run", "client"}, result{Out: "\nstreamtransfer.streamshift.io/try created (dry run)\n"}},
		"transfer, tried out for real": {[]string{"transfer", "orders", "--to", "node-b", "--name", "try", "--dry-run=server"}, result{Out: "\nstreamtransfer.streamshift.io/try created (server dry run)\n"}},
		"transfer":                     {[]string{"transfer", "orders", "--to", "node-b", "--name", "second"}, result{Out: "\nstreamtransfer.streamshift.io/second created\n"}},
		"transfer as a manifest": {[]string{"transfer", "orders", "--to", "node-b", "--name", "try", "--dry-run=client", "-o", "yaml", "--expected-epoch=7", "--force", "--deadline=1m", "--keep=0"},
			result{Out: `
apiVersion: streamshift.io/v1alpha1
kind: StreamTransfer
metadata:
  name: try
  namespace: default
spec:
  cancel: false
  deadlineSeconds: 60
  expectedEpoch: 7
  force: true
  stream: orders
  target: node-b
status:
  observedGeneration: 0
`}},
		"transfer as a manifest without a name": {[]string{"transfer", "orders", "--to", "node-b", "--dry-run=client", "-o", "name"},
			result{Out: "\nstreamtransfer.streamshift.io/orders-id-1\n"}},
		"list of one stream": {[]string{"list", "orders"}, result{1, "",
			"error: kubectl stream list takes no argument, and got \"orders\": see kubectl stream list --help\n"}},
		"cancel a transfer":  {[]string{"cancel", "move"}, result{Out: "\nstreamtransfer/move is to be cancelled\n"}},
		"cancel of a stream": {[]string{"cancel", "orders"}, result{Out: "\nstreamtransfer/move is to be cancelled\n"}},
		"cancel of a stream that does not move": {[]string{"cancel", "Shop/Orders"}, result{1, "",
			`error: stream "Shop/Orders" is not in transfer: there is nothing to cancel` + "\n"}},
		"cancel of nobody": {[]string{"cancel", "nobody"}, result{1, "", `error: neither a transfer nor a stream in namespace "default" is called "nobody": ` +
			"kubectl get streamtransfers lists the transfers, kubectl stream list the streams\n"}},
		"drain of nobody":                    {[]string{"drain", "node-z"}, result{1, "", noNode}},
		"drain, only begun":                  {[]string{"drain", "node-a", "--wait=false"}, result{Out: "\nnode/node-a cordoned\n"}},
		"drain of what Kubernetes knows not": {[]string{"drain", "node-b", "--wait=false"}, result{Out: "\nstreamnode/node-b cordoned\n"}},
		"uncordon of nobody":                 {[]string{"uncordon", "node-z"}, result{1, "", noNode}},
		"uncordon of an open node":           {[]string{"uncordon", "node-a"}, result{Out: "\nnode/node-a already uncordoned\n"}},
		"append without a gateway": {[]string{"append", "orders", "1"}, result{1, "",
			"error: no gateway is known: give --gateway or set STREAMSHIFT_GATEWAY; the cluster has no ConfigMap kube-public/streamshift that names one\n"}},
		"read from no URL": {[]string{"read", "orders", "--gateway", "localhost:4437"}, result{1, "",
			"error: the gateway \"localhost:4437\" is no URL such as http://localhost:4437\n"}},
		"append of nothing":      {[]string{"append"}, result{1, "", "error: kubectl stream append takes the NAME of a stream, and records: see kubectl stream append --help\n"}},
		"completion":             {[]string{"completion"}, result{Out: "\n" + completionScript}},
		"complete streams":       {[]string{"__complete", "status", ""}, result{Out: "\norders\ton node-a\nShop/Orders\ton node-a\n:4\n", Err: "Completion ended with directive: ShellCompDirectiveNoFileComp\n"}},
		"complete a second name": {[]string{"__complete", "status", "orders", ""}, result{Out: "\n:4\n", Err: "Completion ended with directive: ShellCompDirectiveNoFileComp\n"}},
		"complete targets": {[]string{"__complete", "transfer", "orders", "--to", ""}, result{
			Out: "\nnode-a\t42 of 100 slots used\nnode-b\t42 of 100 slots used\n:4\n", Err: "Completion ended with directive: ShellCompDirectiveNoFileComp\n"}},
		"complete transfers": {[]string{"__complete", "cancel", ""}, result{Out: "\nmove\torders to node-b\n:4\n", Err: "Completion ended with directive: ShellCompDirectiveNoFileComp\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Out = strings.TrimPrefix(c.want.Out, "\n")
			got := newWorld(t, fixture()...).run(t, c.args...)
			if strings.Contains(got.Out, "NAME ") || strings.Contains(got.Out, "  ") {
				got.Out = withoutTrailingSpaces(got.Out)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func withoutTrailingSpaces(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func TestWhatAWebhookSaysIsShownAsItIs(t *testing.T) {
	w := newWorld(t, fixture()...)
	const sentence = `admission webhook "transfers.streamshift.io" denied the request: target node "node-b" has no free slot`
	w.client = interceptor.NewClient(w.client, interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return &apierrors.StatusError{ErrStatus: metav1.Status{Message: sentence, Reason: metav1.StatusReasonForbidden}}
		},
	})
	want := result{1, "", "error: " + sentence + "\n"}
	if diff := cmp.Diff(want, w.run(t, "transfer", "orders", "--to", "node-b")); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestAClusterWithoutStreamshiftIsTold(t *testing.T) {
	w := newWorld(t)
	w.client = interceptor.NewClient(w.client, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "streamshift.io", Kind: "Stream"}}
		},
	})
	got := w.run(t, "list")
	if !strings.HasPrefix(got.Err, "error: this cluster does not know the kinds of streamshift.io: install Streamshift") || got.Status != StatusFailed {
		t.Errorf("got %+v", got)
	}
}

// The flags that every command has are listed by "options" only: they would hide a command's own.
func TestHelpShowsTheCommandsOwnFlags(t *testing.T) {
	w := newWorld(t)
	for name, c := range map[string]struct {
		args       []string
		has, hides string
	}{
		"of the plugin":             {[]string{"--help"}, "Change owners:", "--kubeconfig"},
		"of a command":              {[]string{"drain", "--help"}, "--blocked-timeout", "--kubeconfig"},
		"of what every command has": {[]string{"options"}, "--kubeconfig", "--blocked-timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			got := w.run(t, c.args...)
			if !strings.Contains(got.Out, c.has) || strings.Contains(got.Out, c.hides) {
				t.Errorf("want %s and not %s in:\n%s", c.has, c.hides, got.Out)
			}
		})
	}
}
