package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/kubectlstream"
	"github.com/streamshift/streamshift/internal/routing"
)

const (
	pluginStreams = 10
	// pluginLimit bounds a spec: each command takes a second at most, most of which is kubectl's and the plugin's start.
	pluginLimit = 2 * time.Minute
)

var _ = Describe("kubectl stream", Ordered, func() {
	var user *shell

	BeforeAll(func() { user = newShell() })

	It("transfers a stream under load, and tells who owns it", func(ctx SpecContext) {
		stream := newStream(ctx, "plugin")
		run := startLoad(ctx, stream.Name)
		source, target := stream.Status.Node, otherNode(stream.Status.Node)

		moved := user.kubectl(ctx, "", "stream", "transfer", stream.Name, "--to", target, "--wait")
		Expect(moved.status).To(Equal(kubectlstream.StatusDone), moved.complaint)
		Expect(moved.output).To(ContainSubstring("stream/plugin went from %s to %s, epoch %d to %d", source, target, stream.Status.Epoch, stream.Status.Epoch+1))
		awaitAppends(ctx, run, 10)
		Expect(stopLoad(ctx, run).Clean()).To(BeTrue())

		Expect(user.kubectl(ctx, "", "stream", "transfer", stream.Name, "--to", target).output).To(ContainSubstring("is on %s already", target))
		Expect(user.kubectl(ctx, "", "stream", "list", "-A", "-o", `jsonpath={.items[?(@.metadata.name=="plugin")].status.node}`).output).To(Equal(target))
		Expect(user.kubectl(ctx, "", "stream", "list", "--node", target).output).To(MatchRegexp(`(?m)^plugin\s+%s\s+\d+\s+Open`, target))
		status := user.kubectl(ctx, "", "stream", "status", stream.Name).output
		Expect(status).To(MatchRegexp(`Owner: +%s\n`, target))
		Expect(status).To(MatchRegexp(`Last transfer: +%s to %s, by plugin-\w+`, source, target))
		Expect(status).To(MatchRegexp(`Waits for: +nothing\n`))
		listed := user.kubectl(ctx, "", "stream", "nodes").output
		for _, node := range nodes {
			Expect(listed).To(MatchRegexp(`(?m)^%s\s+True\s+True\s+<none>`, node))
		}
		Expect(user.kubectl(ctx, "", "stream", "top", "-o", "name").output).To(ContainSubstring("streamnode.streamshift.io/" + target + "\n"))
	}, SpecTimeout(pluginLimit))

	It("shows what the webhook says, and names the nodes and streams that there are", func(ctx SpecContext) {
		stream := newStream(ctx, "plugin-refused")
		target := otherNode(stream.Status.Node)
		refused := user.kubectl(ctx, "", "stream", "transfer", stream.Name, "--to", target, "--expected-epoch", "4711")
		Expect(refused.status).To(Equal(kubectlstream.StatusFailed))
		Expect(refused.complaint).To(MatchRegexp(`^error: admission webhook .* denied the request: .*stream "plugin-refused" is at epoch \d+, not at spec.expectedEpoch 4711`))
		nowhere := user.kubectl(ctx, "", "stream", "transfer", stream.Name, "--to", "node-z")
		Expect(nowhere.status).To(Equal(kubectlstream.StatusFailed))
		Expect(nowhere.complaint).To(ContainSubstring("the nodes that are: node-a, node-b, node-c"))
		Expect(user.kubectl(ctx, "", "stream", "status", "nobody").complaint).To(ContainSubstring("plugin-refused"))
		// kubectl finds the plugin, and the plugin completes its arguments.
		Expect(user.kubectl(ctx, "", "__complete", "stream", "status", "plugin-r").output).To(HavePrefix("plugin-refused\ton "))
		Expect(user.kubectl(ctx, "", "plugin", "list").output).To(ContainSubstring("kubectl-stream\n"))
	}, SpecTimeout(pluginLimit))

	It("drains a node, says in plain lines how far that is, and uncordons it", func(ctx SpecContext) {
		node := nodes[1]
		streamsOn(ctx, node, "plugin-drained", pluginStreams)
		DeferCleanup(func(ctx SpecContext) { uncordon(ctx, node) })

		drained := user.kubectl(ctx, "", "stream", "drain", node, "--timeout", "1m")
		Expect(drained.status).To(Equal(kubectlstream.StatusDone), drained.complaint)
		Expect(drained.output).To(HavePrefix("node/" + node + " cordoned\n"))
		Expect(drained.output).To(MatchRegexp(`(?s)\d+ of \d+ streams have left %s\n.*node/%s drained: it holds no stream; \d+ have left it\n$`, node, node))
		Expect(drained.output).NotTo(ContainSubstring("\x1b"), "what a terminal understands, in a pipe")
		Expect(ownedBy(ctx, node)).To(BeEmpty())
		Expect(user.kubectl(ctx, "", "stream", "nodes").output).To(MatchRegexp(`(?m)^%s\s+True\s+False\s+drained`, node))

		open := user.kubectl(ctx, "", "stream", "uncordon", node)
		Expect(open.status).To(Equal(kubectlstream.StatusDone), open.complaint)
		Expect(open.output).To(Equal("node/" + node + " uncordoned\n"))
		var kubernetesNode corev1.Node
		Expect(cluster.Client().Get(ctx, client.ObjectKey{Name: node}, &kubernetesNode)).To(Succeed())
		Expect(kubernetesNode.Spec.Unschedulable).To(BeFalse())
	}, SpecTimeout(pluginLimit))

	It("names the streams that keep a node from being drained", func(ctx SpecContext) {
		node := nodes[2]
		createStream(ctx, &v1alpha1.Stream{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "plugin-stays"},
			Spec:       v1alpha1.StreamSpec{ContentType: "application/json", NodeName: node, DrainPolicy: v1alpha1.DrainStay},
		})
		DeferCleanup(func(ctx SpecContext) { uncordon(ctx, node) })
		blocked := user.kubectl(ctx, "", "stream", "drain", node, "--blocked-timeout", "500ms", "--timeout", "1m")
		Expect(blocked.status).To(Equal(kubectlstream.StatusBlocked), "%+v", blocked)
		Expect(blocked.complaint).To(ContainSubstring("default/plugin-stays stays: StayPolicy"))
		late := user.kubectl(ctx, "", "stream", "drain", node, "--blocked-timeout", "0", "--timeout", "500ms")
		Expect(late.status).To(Equal(kubectlstream.StatusTimedOut), "%+v", late)
		Expect(late.output).To(HavePrefix("node/" + node + " already cordoned\n"))
	}, SpecTimeout(pluginLimit))

	It("cancels a transfer whose source does not close the stream", func(ctx SpecContext) {
		stream := newStream(ctx, "plugin-cancelled")
		source := streamshift.Nodes[stream.Status.Node]
		Expect(source.Pause()).To(Succeed())
		DeferCleanup(source.Resume)
		asked := user.kubectl(ctx, "", "stream", "transfer", stream.Name, "--to", otherNode(stream.Status.Node), "--name", "plugin-cancelled")
		Expect(asked.output).To(Equal("streamtransfer.streamshift.io/plugin-cancelled created\n"), asked.complaint)
		awaitAccepted(ctx, stream.Name, client.ObjectKey{Namespace: namespace, Name: "plugin-cancelled"})
		Expect(user.kubectl(ctx, "", "stream", "status", stream.Name).output).To(MatchRegexp(`Waits for: +transfer plugin-cancelled to`))
		cancelled := user.kubectl(ctx, "", "stream", "cancel", stream.Name, "--wait")
		Expect(cancelled.status).To(Equal(kubectlstream.StatusDone), cancelled.complaint)
		Expect(cancelled.output).To(HaveSuffix("streamtransfer/plugin-cancelled was cancelled: nothing moved\n"))
		again := user.kubectl(ctx, "", "stream", "cancel", stream.Name)
		Expect(again.complaint).To(ContainSubstring("has ended already"))
	}, SpecTimeout(pluginLimit))

	It("appends and reads records of a stream whose name is no object's", func(ctx SpecContext) {
		const name = "Plugin/Orders 2026"
		object, err := routing.ObjectName(name)
		Expect(err).NotTo(HaveOccurred())
		createStream(ctx, &v1alpha1.Stream{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: object}, Spec: v1alpha1.StreamSpec{ContentType: "application/json"},
		})
		lost := user.kubectl(ctx, "", "stream", "append", name, "1")
		Expect(lost.complaint).To(ContainSubstring("no gateway is known"))
		nameGateway(ctx)

		appended := user.kubectl(ctx, "", "stream", "append", name, `{"order":1}`, `{"order":2}`)
		Expect(appended.status).To(Equal(kubectlstream.StatusDone), appended.complaint)
		Expect(appended.complaint).To(HaveSuffix(": 2 records\n"))
		var lines strings.Builder
		for i := 3; i <= 5000; i++ {
			fmt.Fprintf(&lines, "{\"order\": %d}\n", i)
		}
		appended = user.kubectl(ctx, lines.String(), "stream", "append", name)
		Expect(appended.status).To(Equal(kubectlstream.StatusDone), appended.complaint)
		read := user.kubectl(ctx, "", "stream", "read", name, "--show-next")
		Expect(read.output).To(HavePrefix("{\"order\":1}\n{\"order\":2}\n{\"order\":3}\n"))
		Expect(read.output).To(HaveSuffix("{\"order\":5000}\n"))
		Expect(strings.Count(read.output, "\n")).To(Equal(5000))

		next := strings.TrimSpace(strings.TrimPrefix(read.complaint, "next offset: "))
		follower := user.command(ctx, "", "stream", "read", name, "--offset", next, "--follow")
		followed := gbytes.NewBuffer()
		follower.Stdout, follower.Stderr = followed, GinkgoWriter
		Expect(follower.Start()).To(Succeed())
		appended = user.kubectl(ctx, "", "stream", "append", name, "--gateway", streamshift.Gateway.URL(), `"the last"`)
		Expect(appended.status).To(Equal(kubectlstream.StatusDone), appended.complaint)
		Eventually(ctx, followed).WithTimeout(patience).Should(gbytes.Say(`^"the last"\n$`))
		Expect(follower.Process.Signal(os.Interrupt)).To(Succeed())
		Expect(follower.Wait()).To(Succeed())
	}, SpecTimeout(pluginLimit))
})

// nameGateway has the cluster name its gateway until the end of the spec.
func nameGateway(ctx context.Context) {
	GinkgoHelper()
	Expect(cluster.CreateNamespace(ctx, "kube-public")).To(Succeed())
	named := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-public", Name: "streamshift"}, Data: map[string]string{"gateway": streamshift.Gateway.URL()},
	}
	Expect(cluster.Client().Create(ctx, named)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(cluster.Client().Delete(ctx, named)).To(Succeed()) })
}

// shell is where somebody has kubectl and the plugin in the PATH, and nothing of Streamshift's in the environment.
type shell struct {
	environment []string
}

func newShell() *shell {
	GinkgoHelper()
	folder := GinkgoT().TempDir()
	programs, err := filepath.Abs(filepath.Join("..", "..", "bin"))
	Expect(err).NotTo(HaveOccurred())
	for link, program := range map[string]string{
		"kubectl":        cluster.KubectlPath(),
		"kubectl-stream": filepath.Join(programs, "kubectl-stream"),
	} {
		Expect(os.Symlink(program, filepath.Join(folder, link))).To(Succeed())
	}
	s := &shell{environment: []string{"HOME=" + folder, "KUBECONFIG=" + cluster.Kubeconfig(), "PATH=" + folder + ":/usr/bin:/bin"}}
	script := s.kubectl(context.Background(), "", "stream", "completion").output
	Expect(os.WriteFile(filepath.Join(folder, "kubectl_complete-stream"), []byte(script), 0o700)).To(Succeed())
	return s
}

// said is what somebody sees of a command.
type said struct {
	status            kubectlstream.Status
	output, complaint string
}

func (s *shell) command(ctx context.Context, input string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, cluster.KubectlPath(), args...)
	command.Env, command.Stdin = s.environment, strings.NewReader(input)
	return command
}

// kubectl runs a command to its end.
func (s *shell) kubectl(ctx context.Context, input string, args ...string) said {
	GinkgoHelper()
	command := s.command(ctx, input, args...)
	var output, complaint strings.Builder
	command.Stdout, command.Stderr = &output, &complaint
	err := command.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); !ok || ended.ExitCode() < 0 {
		Expect(err).NotTo(HaveOccurred(), "kubectl %v: %s", args, complaint.String())
	}
	result := said{kubectlstream.Status(command.ProcessState.ExitCode()), output.String(), complaint.String()}
	GinkgoWriter.Printf("kubectl %s\n%s%s= %d\n", strings.Join(args, " "), result.output, result.complaint, result.status)
	return result
}
