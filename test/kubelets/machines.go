//go:build linux

package kubelets

import (
	"fmt"
	"os"
	"path/filepath"
)

// The network that the machines share, and those of pods and Services. They exist in namespaces only.
const (
	network         = "10.77.0.0/24"
	controlAddress  = "10.77.0.1"
	clientsAddress  = "10.77.0.2"
	podNetwork      = "10.244.0.0/16"
	serviceNetwork  = "10.96.0.0/24"
	apiServiceIP    = "10.96.0.1"
	apiServer       = "https://" + controlAddress + ":6443"
	firstNodeNumber = 1
)

// Names of network namespaces, which are the machine's, begin like this.
const prefix = "streamshift-"

// NodeNames are the names of the cluster's nodes.
var NodeNames = []string{"n1", "n2", "n3"}

// machine is a network namespace with one address on the shared network.
type machine struct {
	name    string
	address string
}

var (
	control = machine{name: "control", address: controlAddress}
	clients = machine{name: "clients", address: clientsAddress}
)

// node is a machine that runs pods. number is from 1.
type node struct {
	machine
	number int
}

func nodes() []node {
	all := make([]node, 0, len(NodeNames))
	for i, name := range NodeNames {
		number := firstNodeNumber + i
		all = append(all, node{machine: machine{name: name, address: fmt.Sprintf("10.77.0.%d", 10+number)}, number: number})
	}
	return all
}

// machines are all of them, the control plane's first.
func machines() []machine {
	all := []machine{control, clients}
	for _, n := range nodes() {
		all = append(all, n.machine)
	}
	return all
}

// pods is the network of the node's pods.
func (n node) pods() string { return fmt.Sprintf("10.244.%d.0/24", n.number) }

func (m machine) namespace() string     { return prefix + m.name }
func (m machine) namespacePath() string { return "/run/netns/" + m.namespace() }

// cgroup is the node's, at the root of every hierarchy.
func (n node) cgroup() string { return prefix + n.name }

// folder is where one cluster keeps everything. There is one a machine, since names and addresses are the same for all.
type folder string

func stateFolder() folder { return folder(filepath.Join(os.TempDir(), "streamshift-kubelets")) }

func (f folder) join(elements ...string) string {
	return filepath.Join(append([]string{string(f)}, elements...)...)
}
func (f folder) log(name string) string        { return f.join("logs", name+".log") }
func (f folder) kubeconfig(user string) string { return f.join("pki", user+".kubeconfig") }
func (f folder) disk(n node) string            { return f.join("disks", n.name) }

// write writes a file of the cluster, private since many of them are keys.
func (f folder) write(content []byte, elements ...string) (string, error) {
	path := f.join(elements...)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // pods' users pass through it
		return "", fmt.Errorf("making the folder of %s: %w", path, err)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return "", fmt.Errorf("writing %s: %w", path, err)
	}
	return path, nil
}
