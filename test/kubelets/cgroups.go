//go:build linux

package kubelets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const cgroupRoot = "/sys/fs/cgroup"

// unified tells whether the machine has cgroup v2 only, and its controllers there. This was never run on such a machine.
func unified() bool {
	controllers, err := os.ReadFile(filepath.Join(cgroupRoot, "cgroup.controllers"))
	return err == nil && strings.Contains(string(controllers), "memory")
}

// hierarchies are where a node's cgroup is made: one folder with cgroup v2, one a controller with v1.
func hierarchies() ([]string, error) {
	if unified() {
		return []string{cgroupRoot}, nil
	}
	entries, err := os.ReadDir(cgroupRoot)
	if err != nil {
		return nil, fmt.Errorf("looking for cgroups: %w", err)
	}
	var all []string
	for _, entry := range entries {
		path := filepath.Join(cgroupRoot, entry.Name())
		if !entry.IsDir() { // "cpu" may be a link to "cpu,cpuacct"
			continue
		}
		if _, err := os.Stat(filepath.Join(path, "cgroup.procs")); err == nil {
			all = append(all, path)
		}
	}
	return all, nil
}

// makeCgroups makes the node's cgroup, below which its kubelet puts pods.
func (n node) makeCgroups() error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range all {
		path := filepath.Join(hierarchy, n.cgroup())
		if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, fs.ErrExist) { //nolint:gosec // as the kernel's own
			return fmt.Errorf("making a cgroup: %w", err)
		}
		// In cgroup v1 a new set of processors is empty, and takes no process.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if unified() {
				break
			}
			all, err := os.ReadFile(filepath.Join(hierarchy, file))
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return fmt.Errorf("reading the machine's processors: %w", err)
			}
			if err := os.WriteFile(filepath.Join(path, file), all, 0o600); err != nil {
				return fmt.Errorf("giving processors to a cgroup: %w", err)
			}
		}
	}
	if !unified() {
		return nil
	}
	// In v2 children have the controllers that their parent hands down.
	path := filepath.Join(cgroupRoot, n.cgroup(), "cgroup.subtree_control")
	if err := os.WriteFile(path, []byte("+cpu +cpuset +memory +pids"), 0o600); err != nil {
		return fmt.Errorf("handing down a cgroup's controllers: %w", err)
	}
	return nil
}

// removeCgroups removes the node's cgroups from the leaves up, once the kernel has ended what was in them.
func (n node) removeCgroups(ctx context.Context) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	return await(ctx, "cgroups of "+n.name+" to be empty", removeTimeout, func(context.Context) error {
		for _, hierarchy := range all {
			if err := removeTree(filepath.Join(hierarchy, n.cgroup())); err != nil {
				return err
			}
		}
		return nil
	})
}

// removeTree removes a cgroup and all below it. The files in them are the kernel's, and go with them.
func removeTree(path string) error {
	var folders []string
	err := filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			folders = append(folders, path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("looking for cgroups: %w", err)
	}
	for _, folder := range slices.Backward(folders) {
		if err := os.Remove(folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing a cgroup: %w", err)
		}
	}
	return nil
}
