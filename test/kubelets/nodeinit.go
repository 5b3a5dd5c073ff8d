//go:build linux

package kubelets

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// nodeVerb is the first argument of a program that is to be the first process of a node.
const nodeVerb = "be-the-first-process-of-a-node"

// containerdTimeout bounds how long containerd may take until it answers.
const containerdTimeout = 60 * time.Second

// RunNode is a node's first process where the program was started to be one; otherwise it returns at once. Every main that starts a
// cluster calls it before all else.
func RunNode() {
	if len(os.Args) != 5 || os.Args[1] != nodeVerb {
		return
	}
	name, f, programs := os.Args[2], folder(os.Args[3]), programs{folder: os.Args[4]}
	for _, n := range nodes() {
		if n.name == name {
			fmt.Fprintln(os.Stderr, "The node ends:", n.run(f, programs))
		}
	}
	os.Exit(1)
}

// run makes the node of the namespaces that it is in, starts its three programs and reaps processes until one of the three ends.
// With the first process of a node the kernel ends all others.
func (n node) run(f folder, programs programs) error {
	if err := n.mountAll(f); err != nil {
		return err
	}
	if err := n.writeFiles(f); err != nil {
		return err
	}
	if err := syscall.Sethostname([]byte(n.name)); err != nil {
		return fmt.Errorf("naming the node: %w", err)
	}
	important := map[int]string{}
	start := func(name, path string, args ...string) error {
		pid, err := f.launch(n.name+"-"+name, path, args...)
		important[pid] = name
		return err
	}
	if err := start("containerd", programs.containerd(), "--config", f.join("nodes", n.name, "containerd.toml")); err != nil {
		return err
	}
	if err := n.importImages(f, programs); err != nil {
		return err
	}
	err := start("kubelet", programs.kubernetes("kubelet"), "--config="+f.join("nodes", n.name, "kubelet.yaml"),
		"--kubeconfig="+f.kubeconfig(n.name), "--hostname-override="+n.name, "--node-ip="+n.address)
	if err != nil {
		return err
	}
	err = start("kube-proxy", programs.kubernetes("kube-proxy"), "--config="+f.join("nodes", n.name, "kube-proxy.yaml"),
		"--hostname-override="+n.name)
	if err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return fmt.Errorf("waiting for processes: %w", err)
		case important[pid] != "":
			return fmt.Errorf("%s has ended with status %d", important[pid], status.ExitStatus())
		}
	}
}

// launch starts a program beside this one. It is waited for by run, together with all that lose their parents.
func (f folder) launch(name, path string, args ...string) (int, error) {
	log, err := os.OpenFile(f.log(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, fmt.Errorf("opening a log: %w", err)
	}
	defer func() { _ = log.Close() }() // the process has its own
	//nolint:gosec // a node's own programs
	pid, err := syscall.ForkExec(path, append([]string{path}, args...), &syscall.ProcAttr{
		Dir: "/", Env: os.Environ(), Files: []uintptr{0, log.Fd(), log.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, fmt.Errorf("starting %s: %w", path, err)
	}
	return pid, nil
}

// importImages hands containerd the cluster's images, once it answers.
func (n node) importImages(f folder, programs programs) error {
	images, err := filepath.Glob(f.join("images", "*.tar"))
	if err != nil {
		return fmt.Errorf("looking for images: %w", err)
	}
	ctr := func(args ...string) error {
		pid, err := f.launch(n.name+"-images", programs.ctr(), append([]string{"--namespace", "k8s.io"}, args...)...)
		if err != nil {
			return err
		}
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
			return fmt.Errorf("waiting for ctr: %w", err)
		}
		if status.ExitStatus() != 0 {
			return fmt.Errorf("ctr %s failed: see its log", strings.Join(args, " "))
		}
		return nil
	}
	answers := func(context.Context) error { return ctr("version") }
	if err := await(context.Background(), "containerd to answer", containerdTimeout, answers); err != nil {
		return err
	}
	for _, image := range images {
		if err := ctr("images", "import", image); err != nil {
			return err
		}
	}
	return nil
}

// writeFiles writes the configurations of the node's programs.
func (n node) writeFiles(f folder) error {
	for name, content := range map[string]string{
		"containerd.toml": containerdConfig, "kubelet.yaml": n.kubeletConfig(f), "kube-proxy.yaml": f.proxyConfig(),
	} {
		if _, err := f.write([]byte(content), "nodes", n.name, name); err != nil {
			return err
		}
	}
	for _, path := range []string{networkConfigs, "/var/lib/kubelet", "/var/lib/containerd", "/var/log/pods", "/var/log/containers", "/run/lock"} {
		if err := os.MkdirAll(path, 0o755); err != nil { //nolint:gosec // pods' users pass through it
			return fmt.Errorf("making a folder of the node: %w", err)
		}
	}
	if err := os.WriteFile(filepath.Join(networkConfigs, "10-pods.conflist"), []byte(n.podsNetwork()), 0o600); err != nil {
		return fmt.Errorf("writing the pods' network: %w", err)
	}
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o600); err != nil {
		return fmt.Errorf("letting the node forward packets: %w", err)
	}
	return nil
}

// machineID is the node's for as long as its disk is there, as a machine's is.
func (n node) machineID(f folder) (string, error) {
	path := f.join("nodes", n.name, "machine-id")
	switch known, err := os.ReadFile(path); {
	case err == nil && len(bytes.TrimSpace(known)) > 0:
		return path, nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("reading the machine's identity: %w", err)
	}
	id := make([]byte, 16)
	_, _ = rand.Read(id) // never fails
	return f.write([]byte(hex.EncodeToString(id)+"\n"), "nodes", n.name, "machine-id")
}
