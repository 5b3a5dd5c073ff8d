//go:build linux

package kubelets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// mount is one mount of a node.
type mount struct {
	source, target, kind string
	flags                uintptr
}

// mountAll gives the node a view of the machine: processes, network and cgroups of its own namespaces, folders and identity of its own.
// Everything is private to this process's mount namespace, and ends with it.
func (n node) mountAll(f folder) error {
	cgroups := f.join("nodes", n.name, "cgroups")
	// What is in /run ends with a boot.
	if err := os.RemoveAll(f.disk(n) + "/run"); err != nil {
		return fmt.Errorf("emptying /run: %w", err)
	}
	mounts := []mount{
		{target: "/", flags: syscall.MS_REC | syscall.MS_PRIVATE},
		{source: "proc", target: "/proc", kind: "proc"},
		// A fresh /sys shows this network namespace, and hides the cgroups: put aside before, they are put back on it.
		{source: cgroupRoot, target: cgroups, flags: syscall.MS_BIND | syscall.MS_REC},
		{source: "sysfs", target: "/sys", kind: "sysfs"},
		{source: cgroups, target: cgroupRoot, flags: syscall.MS_BIND | syscall.MS_REC},
	}
	if err := os.MkdirAll(cgroups, 0o700); err != nil {
		return fmt.Errorf("making a mount point: %w", err)
	}
	for _, folder := range ownFolders {
		if err := os.MkdirAll(f.disk(n)+folder, 0o755); err != nil { //nolint:gosec // pods' users pass through it
			return fmt.Errorf("making the node's %s: %w", folder, err)
		}
		mounts = append(mounts, mount{source: f.disk(n) + folder, target: folder, flags: syscall.MS_BIND})
	}
	// What a pod's volume mounts is seen by the kubelet, and the other way round.
	mounts = append(mounts, mount{target: "/", flags: syscall.MS_REC | syscall.MS_SHARED})
	covers, err := n.covers(f)
	if err != nil {
		return err
	}
	for _, m := range append(mounts, covers...) {
		if err := syscall.Mount(m.source, m.target, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", m.target, err)
		}
		if m.target == cgroupRoot {
			if err := syscall.Unmount(cgroups, syscall.MNT_DETACH); err != nil {
				return fmt.Errorf("unmounting %s: %w", cgroups, err)
			}
		}
	}
	return nil
}

// covers are files that lie over the machine's: settings that the kubelet wants, and who the machine is. A boot's identity is new each
// time, by which the control plane sees that a node has started again.
func (n node) covers(f folder) ([]mount, error) {
	var covers []mount
	for name, value := range kubeletSysctls {
		target := "/proc/sys/" + name
		if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
			continue // this kernel does not know it
		}
		source, err := f.write([]byte(value+"\n"), "nodes", n.name, "sysctls", strings.ReplaceAll(name, "/", "."))
		if err != nil {
			return nil, err
		}
		covers = append(covers, mount{source: source, target: target, flags: syscall.MS_BIND})
	}
	machine, err := n.machineID(f)
	if err != nil {
		return nil, err
	}
	fresh, err := os.ReadFile("/proc/sys/kernel/random/uuid")
	if err != nil {
		return nil, fmt.Errorf("making an identity of this boot: %w", err)
	}
	boot, err := f.write(fresh, "nodes", n.name, "boot-id")
	if err != nil {
		return nil, err
	}
	return append(covers,
		mount{source: machine, target: "/etc/machine-id", flags: syscall.MS_BIND},
		mount{source: boot, target: "/proc/sys/kernel/random/boot_id", flags: syscall.MS_BIND}), nil
}
