//go:build linux

package kubelets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// Kill ends a node as a loss of power does: from one moment to the next it answers nobody, and all its processes are gone. What it has on
// disk stays.
func (c *Cluster) Kill(ctx context.Context, name string) error {
	n, err := nodeNamed(name)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(c.folder.join("nodes", name, "pid"))
	if err != nil {
		return fmt.Errorf("reading which process is the node: %w", err)
	}
	pid, err := strconv.Atoi(string(content))
	if err != nil {
		return fmt.Errorf("reading which process is the node: %w", err)
	}
	// First of all it is cut off: nobody is told that its connections end.
	if err := runIP(ctx, unplug(control, n.machine)); err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing node %s: %w", name, err)
	}
	return n.removeCgroups(ctx)
}

// Boot starts a node that was killed, with a network as new as after a start, and waits until it is ready.
func (c *Cluster) Boot(ctx context.Context, name string) error {
	n, err := nodeNamed(name)
	if err != nil {
		return err
	}
	before, err := os.ReadFile(c.folder.join("nodes", name, "boot-id"))
	if err != nil {
		return fmt.Errorf("reading the node's last boot: %w", err)
	}
	if err := runIP(ctx, append(plug(control, n.machine), routes(n.machine)...)); err != nil {
		return err
	}
	if err := c.folder.startNode(n, c.programs); err != nil {
		return err
	}
	api, err := c.api()
	if err != nil {
		return err
	}
	return awaitNode(ctx, api, name, string(before[:len(before)-1]))
}

func nodeNamed(name string) (node, error) {
	for _, n := range nodes() {
		if n.name == name {
			return n, nil
		}
	}
	return node{}, errors.New("there is no node " + name)
}
