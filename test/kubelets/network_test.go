//go:build linux

package kubelets

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A machine that starts again must not share addresses with what the kernel still keeps of it from before.
func TestAMachineThatIsPluggedAgainHasNothingOfItsLastNetwork(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes network namespaces")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skipf("there is no ip: %v", err)
	}
	to, m := machine{name: "test-hub", address: "10.78.0.1"}, machine{name: "test-node", address: "10.78.0.2"}
	run := func(lines ...string) {
		t.Helper()
		if err := runIP(t.Context(), lines); err != nil {
			t.Fatal(err)
		}
	}
	links := func(namespace string) string {
		t.Helper()
		output, err := exec.CommandContext(t.Context(), "nsenter", "--net="+namespace, "ip", "-brief", "link").CombinedOutput()
		if err != nil {
			t.Fatalf("listing interfaces: %v: %s", err, output)
		}
		return string(output)
	}
	for _, namespace := range []machine{to, m} { // of a run that was ended
		_ = exec.Command("ip", "netns", "delete", namespace.namespace()).Run() // there is usually none
	}
	t.Cleanup(func() {
		for _, line := range append(unplug(to, m), "netns delete "+to.namespace()) {
			// t.Context() has ended
			if output, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
				t.Errorf("ip %s: %v: %s", line, err, output)
			}
		}
	})

	run(hub(to)...)
	run(plug(to, m)...)
	run("-n " + m.namespace() + " link add pods type bridge")
	before, err := os.Open(m.namespacePath()) // keeps it, as a socket with unacknowledged bytes does
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = before.Close() }()

	run(unplug(to, m)...)
	run(plug(to, m)...)

	if now := links(m.namespacePath()); strings.Contains(now, "pods") || !strings.Contains(now, "eth0") {
		t.Errorf("plugged again it has\n%swant eth0, and no bridge of pods", now)
	}
	if kept := links(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), before.Fd())); strings.Contains(kept, "eth0") {
		t.Errorf("its last network is still connected:\n%s", kept)
	}
}
