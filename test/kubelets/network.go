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
	lines := append(hub(control), routes(control)...)
	for _, m := range machines()[1:] {
		lines = append(lines, plug(control, m)...)
		lines = append(lines, routes(m)...)
	}
	if err := runIP(ctx, lines); err != nil {
		return err
	}
	for _, m := range []machine{control, clients} {
		if err := command(ctx, "nsenter", "--net="+m.namespacePath(), "sysctl", "-qw", "net.ipv4.ip_forward=1"); err != nil {
			return err
		}
	}
	// What nodes send each other passes the bridge; rules for the control plane's own packets must not see it.
	return command(ctx, "nsenter", "--net="+control.namespacePath(), "sysctl", "-qwe", "net.bridge.bridge-nf-call-iptables=0")
}

// runIP runs ip with each of the lines.
func runIP(ctx context.Context, lines []string) error {
	for _, line := range lines {
		if err := command(ctx, "ip", strings.Fields(line)...); err != nil {
			return err
		}
	}
	return nil
}

// hub makes a machine with a bridge that others are connected to.
func hub(m machine) []string {
	return []string{
		"netns add " + m.namespace(),
		"-n " + m.namespace() + " link set lo up",
		"-n " + m.namespace() + " link add machines type bridge",
		"-n " + m.namespace() + " addr add " + m.address + "/24 dev machines",
		"-n " + m.namespace() + " link set machines up",
	}
}

// plug makes a machine and connects it to the hub. Interfaces are made in the namespaces that they stay in.
func plug(to, m machine) []string {
	return []string{
		"netns add " + m.namespace(),
		"-n " + m.namespace() + " link set lo up",
		"-n " + to.namespace() + " link add to-" + m.name + " type veth peer name eth0 netns " + m.namespace(),
		"-n " + to.namespace() + " link set to-" + m.name + " master machines up",
		"-n " + m.namespace() + " addr add " + m.address + "/24 dev eth0",
		"-n " + m.namespace() + " link set eth0 up",
		"-n " + m.namespace() + " route add default via " + to.address,
	}
}

// unplug undoes plug. The kernel may keep the namespace for minutes, with those of its pods and all their addresses: as long as it sends
// again what killed processes left unacknowledged. Nothing reaches it any more, and it must not become the next one's.
func unplug(from, m machine) []string {
	return []string{
		"-n " + from.namespace() + " link delete to-" + m.name,
		"netns delete " + m.namespace(),
	}
}

// routes are the machine's to the pods of the others.
func routes(m machine) []string {
	var lines []string
	for _, n := range nodes() {
		if n.machine != m {
			lines = append(lines, fmt.Sprintf("-n %s route add %s via %s", m.namespace(), n.pods(), n.address))
		}
	}
	return lines
}
