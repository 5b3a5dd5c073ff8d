//go:build linux

package kubelets

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// searchPath is where the packages of distributions put the programs of root.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// programs are the ones that a cluster consists of: Kubernetes' own in a folder, the others installed on the machine.
type programs struct{ folder string }

func (p programs) kubernetes(name string) string { return filepath.Join(p.folder, name) }
func (programs) containerd() string              { return installed("containerd") }
func (programs) ctr() string                     { return installed("ctr") }

// installed returns the path of a program in searchPath, or its name where it is in none.
func installed(name string) string {
	for folder := range strings.SplitSeq(searchPath, ":") {
		path := filepath.Join(folder, name)
		if status, err := os.Stat(path); err == nil && status.Mode().IsRegular() {
			return path
		}
	}
	return name
}

// needed are the programs that must be installed, by the package that has them in Debian.
var needed = map[string][]string{
	"containerd": {"containerd", "ctr", "containerd-shim-runc-v2"}, "runc": {"runc"}, "iproute2": {"ip"}, "util-linux": {"nsenter"},
	"iptables": {"iptables"}, "conntrack": {"conntrack"}, "procps": {"sysctl"},
}

// Obstacle says why no cluster can be started here, in words that tell what to do about it; nothing where one can. It builds nothing.
func Obstacle(ctx context.Context, checkout string) string {
	if os.Geteuid() != 0 {
		return "it takes root to make namespaces"
	}
	var missing []string
	for debian, names := range needed {
		for _, name := range names {
			if !filepath.IsAbs(installed(name)) {
				missing = append(missing, debian)
				break
			}
		}
	}
	if _, err := os.Stat(filepath.Join(networkPlugins, "bridge")); err != nil {
		missing = append(missing, "containernetworking-plugins")
	}
	if len(missing) > 0 {
		return "these are not installed: " + strings.Join(missing, ", ")
	}
	if _, err := cachedPrograms(ctx, checkout); err != nil {
		return "kubelet, kube-proxy, kube-scheduler and kube-controller-manager are not in the machine's cache; make node-binaries builds them"
	}
	if all, err := hierarchies(); err != nil || len(all) == 0 {
		return "there are no cgroups in " + cgroupRoot
	}
	try := exec.CommandContext(ctx, installed("true")) //nolint:gosec // it does nothing
	try.SysProcAttr = &syscall.SysProcAttr{Cloneflags: nodeNamespaces | syscall.CLONE_NEWNET}
	if err := try.Run(); err != nil {
		return "namespaces cannot be made here: " + err.Error()
	}
	return ""
}

// cachedPrograms are those of Kubernetes in the machine's cache; an error where one is missing.
func cachedPrograms(ctx context.Context, checkout string) (programs, error) {
	var output bytes.Buffer
	//nolint:gosec // a script of this module
	look := exec.CommandContext(ctx, "bash", filepath.Join(checkout, "hack", "controlplane", "nodes.sh"), "--cached")
	look.Stdout, look.Stderr = &output, &output
	if err := look.Run(); err != nil {
		return programs{}, fmt.Errorf("looking for the programs of Kubernetes: %w: %s", err, strings.TrimSpace(output.String()))
	}
	return programs{folder: strings.TrimSpace(output.String())}, nil
}
