package gitops

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// health says what kstatus and Argo CD make of an object.
type health struct {
	kstatus status.Status
	argo    string
}

func (h health) String() string { return fmt.Sprintf("%s, %s", h.kstatus, h.argo) }

// healthOf reads an object and asks both, as strings for Eventually.
func healthOf(t *testing.T, kind, name string) func() string {
	return func() string { return judge(t, read(t, kind, name)).String() }
}

func read(t *testing.T, kind, name string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if kind == "StreamNode" {
		key.Namespace = ""
	}
	if err := cluster.Client().Get(t.Context(), key, object); err != nil {
		t.Fatal(err)
	}
	return object
}

func judge(t *testing.T, object *unstructured.Unstructured) health {
	t.Helper()
	computed, err := status.Compute(object)
	if err != nil {
		t.Fatal(err)
	}
	return health{computed.Status, argoHealth(t, object)}
}

// argoHealth runs the kind's script as Argo CD does: the object is the global obj, the answer a table of status and message.
func argoHealth(t *testing.T, object *unstructured.Unstructured) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join("..", "..", "config", "argocd", strings.ToLower(object.GetKind())+".lua"))
	if err != nil {
		t.Fatal(err)
	}
	// Argo CD opens these libraries and no others.
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable, lua.StringLibName: lua.OpenString} {
		state.Push(state.NewFunction(open))
		state.Push(lua.LString(name))
		state.Call(1, 0)
	}
	state.SetGlobal("obj", toLua(state, object.Object))
	if err := state.DoString(string(script)); err != nil {
		t.Fatal(err)
	}
	answer, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script of %s returns no table", object.GetKind())
	}
	if message := answer.RawGetString("message"); message.Type() != lua.LTString || message.String() == "" {
		t.Errorf("the script of %s gives no message: %v", object.GetKind(), message)
	}
	return answer.RawGetString("status").String()
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, element := range v {
			table.RawSetString(key, toLua(state, element))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, element := range v {
			table.Append(toLua(state, element))
		}
		return table
	case string:
		return lua.LString(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case bool:
		return lua.LBool(v)
	}
	return lua.LNil
}

const (
	healthy     = "Current, Healthy"
	progressing = "InProgress, Progressing"
	waitsForYou = "InProgress, Suspended"
	broken      = "Failed, Degraded"
)

func TestTheHealthOfANewObject(t *testing.T) {
	g, _ := test(t)
	// As the API server completes it, before any controller has looked.
	for _, kind := range []string{"Stream", "StreamTransfer", "StreamRebalance"} {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": kind,
			"metadata": map[string]any{"name": "new", "namespace": namespace},
		}}
		if kind == "StreamTransfer" {
			newStream(t, "new", "")
			object.Object["spec"] = map[string]any{"stream": "new", "target": "node-a"}
		}
		g.Expect(cluster.Client().Create(t.Context(), object, client.DryRunAll)).To(Succeed())
		g.Expect(judge(t, object).String()).To(Equal(progressing), kind)
	}
}

func TestTheHealthOfAStream(t *testing.T) {
	g, _ := test(t)
	apply(t, fmt.Sprintf("apiVersion: streamshift.io/v1alpha1\nkind: Stream\nmetadata: {name: homeless, namespace: %s}\nspec: {nodeSelector: {disk: none}}", namespace))
	g.Eventually(healthOf(t, "Stream", "homeless")).Should(Equal("InProgress, Degraded"))
	newStream(t, "health", "node-a")
	g.Eventually(healthOf(t, "Stream", "health")).Should(Equal(healthy))
	cordon(t, "node-b")
	apply(t, streamManifest("health", "node-b"))
	g.Eventually(reconciling(t, "health")).Should(ContainSubstring("NodeNameWaits"))
	g.Expect(healthOf(t, "Stream", "health")()).To(Equal(progressing))
	apply(t, streamManifest("health", ""))
	g.Eventually(healthOf(t, "Stream", "health")).Should(Equal(healthy))
}

func TestTheHealthOfANode(t *testing.T) {
	g, _ := test(t)
	g.Eventually(healthOf(t, "StreamNode", "node-c")).Should(Equal(healthy))
	apply(t, strings.Replace(streamManifest("stays", "node-c"), "spec: {", "spec: {drainPolicy: Stay, ", 1))
	mustWait(t, "--for=condition=Ready", "stream/stays")
	cordon(t, "node-c")
	g.Eventually(healthOf(t, "StreamNode", "node-c")).Should(HaveSuffix(", Degraded"))
	mustKubectl(t, "delete", "stream/stays")
	g.Eventually(healthOf(t, "StreamNode", "node-c")).Should(HaveSuffix(", Suspended"))
	uncordon(t, "node-c")
	g.Eventually(healthOf(t, "StreamNode", "node-c")).Should(Equal(healthy))
}

func TestTheHealthOfATransferInEveryPhase(t *testing.T) {
	g, _ := test(t)
	expect := func(name string, phase v1alpha1.TransferPhase, want string) {
		t.Helper()
		g.Eventually(func() v1alpha1.TransferPhase { return getTransfer(t, name).Status.Phase }).Should(Equal(phase))
		g.Expect(healthOf(t, "StreamTransfer", name)()).To(Equal(want), "%s", phase)
	}
	apply(t, fmt.Sprintf("apiVersion: streamshift.io/v1alpha1\nkind: Stream\nmetadata: {name: unplaced, namespace: %s}\nspec: {nodeSelector: {disk: none}}", namespace))
	apply(t, transferManifest("h-pending", "unplaced", "node-a", ""))
	expect("h-pending", v1alpha1.TransferPending, progressing)
	mustKubectl(t, "patch", "streamtransfer/h-pending", "--type=merge", "-p", `{"spec":{"cancel":true}}`)
	expect("h-pending", v1alpha1.TransferCancelled, broken)
	apply(t, transferManifest("h-failed", "unplaced", "node-a", ", deadlineSeconds: 1"))
	expect("h-failed", v1alpha1.TransferFailed, broken)

	newStream(t, "h-stream", "")
	target := otherThan(getStream(t, "h-stream").Status.Node)
	resume := pause(t, target)
	apply(t, transferManifest("h-opening", "h-stream", target, ""))
	expect("h-opening", v1alpha1.TransferOpening, progressing)
	resume()
	expect("h-opening", v1alpha1.TransferSucceeded, healthy)
}

func TestTheHealthOfARebalanceInEveryPhase(t *testing.T) {
	g, _ := test(t)
	expect := func(name string, want v1alpha1.RebalancePhase, wantHealth string) {
		t.Helper()
		g.Eventually(phase(t, name)).Should(Equal(want))
		g.Expect(healthOf(t, "StreamRebalance", name)()).To(Equal(wantHealth), "%s", want)
	}
	crowd(t, "h", 3)
	apply(t, rebalanceManifest("h-scheduled", `schedule: "0 0 29 2 *"`))
	expect("h-scheduled", v1alpha1.RebalancePlanning, healthy)
	g.Expect(cluster.Apply(t.Context(), rebalanceManifest("h-invalid", `schedule: "at night"`))).To(MatchError(ContainSubstring("cannot be read")))
	g.Expect(streamshift.Manager.Kill()).To(Succeed()) // so that it is let in
	apply(t, rebalanceManifest("h-invalid", `schedule: "at night"`))
	g.Expect(streamshift.Manager.Restart(t.Context())).To(Succeed())
	expect("h-invalid", v1alpha1.RebalanceFailed, broken)
	apply(t, rebalanceManifest("h-suspended", "suspend: true"))
	expect("h-suspended", v1alpha1.RebalanceStopped, waitsForYou)
	apply(t, rebalanceManifest("h-approval", "approval: Manual, maxStalePercent: 0"))
	expect("h-approval", v1alpha1.RebalanceAwaitingApproval, waitsForYou)
	apply(t, rebalanceManifest("h-stale", "approval: Manual, maxStalePercent: 0"))
	expect("h-stale", v1alpha1.RebalanceAwaitingApproval, waitsForYou)

	resumeB, resumeC := pause(t, "node-b"), pause(t, "node-c") // so that what is started does not end
	patchRebalance(t, "h-approval", fmt.Sprintf(`{"approvedPlan":%q}`, getRebalance(t, "h-approval").Status.PlanHash))
	expect("h-approval", v1alpha1.RebalanceExecuting, progressing)
	g.Eventually(func() int { return len(transfersOf(t, getRebalance(t, "h-approval").Status.PlanHash)) }).Should(BeNumerically(">", 0))
	resumeB()
	resumeC()
	expect("h-approval", v1alpha1.RebalanceSucceeded, healthy)
	patchRebalance(t, "h-stale", fmt.Sprintf(`{"approvedPlan":%q}`, getRebalance(t, "h-stale").Status.PlanHash))
	g.Eventually(phase(t, "h-stale")).Should(Or(Equal(v1alpha1.RebalanceStale), Equal(v1alpha1.RebalanceSucceeded)))
}
