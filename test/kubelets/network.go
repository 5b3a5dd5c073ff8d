//go:build linux

package kubelets

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// command runs a program to its end. Its error has what the program printed.
func command(ctx context.Context, name string, args ...string) error {
	output, err := exec.CommandContext(ctx, name, args...).CombinedOutput() //nolint:gosec // all callers are here
	if err != nil {
		return fmt.Errorf("running %s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}

// makeNetwork makes the machines, each connected to a bridge that is in the control plane's namespace.
func makeNetwork(ctx context.Context) error {
	lines := []string{
		"netns add " + control.namespace(),
		"-n " + control.namespace() + " link set lo up",
		"-n " + control.namespace() + " link add machines type bridge",
		"-n " + control.namespace() + " addr add " + control.address + "/24 dev machines",
		"-n " + control.namespace() + " link set machines up",
	}
	for _, m := range machines()[1:] {
		lines = append(lines, plug(m)...)
	}
	for _, from := range machines() {
		for _, n := range nodes() {
			if n.machine != from {
				lines = append(lines, fmt.Sprintf("-n %s route add %s via %s", from.namespace(), n.pods(), n.address))
			}
		}
	}
	for _, line := range lines {
		if err := command(ctx, "ip", strings.Fields(line)...); err != nil {
			return err
		}
	}
	for _, m := range []machine{control, clients} {
		if err := command(ctx, "nsenter", "--net="+m.namespacePath(), "sysctl", "-qw", "net.ipv4.ip_forward=1"); err != nil {
			return err
		}
	}
	// What nodes send each other passes the bridge; rules for the control plane's own packets must not see it.
	return command(ctx, "nsenter", "--net="+control.namespacePath(), "sysctl", "-qwe", "net.bridge.bridge-nf-call-iptables=0")
}

// plug makes a machine and connects it. Interfaces are made in the namespaces that they stay in.
func plug(m machine) []string {
	return []string{
		"netns add " + m.namespace(),
		"-n " + m.namespace() + " link set lo up",
		"-n " + control.namespace() + " link add to-" + m.name + " type veth peer name eth0 netns " + m.namespace(),
		"-n " + control.namespace() + " link set to-" + m.name + " master machines up",
		"-n " + m.namespace() + " addr add " + m.address + "/24 dev eth0",
		"-n " + m.namespace() + " link set eth0 up",
		"-n " + m.namespace() + " route add default via " + control.address,
	}
}
