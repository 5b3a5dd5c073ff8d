//go:build linux

package kubelets

import "fmt"

// podsNetwork is the configuration of the pods' network: a bridge on each node, routes between the nodes.
func (n node) podsNetwork() string {
	return fmt.Sprintf(`{"cniVersion": "1.0.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": false, "hairpinMode": true,
   "ipam": {"type": "host-local", "ranges": [[{"subnet": %q}]], "routes": [{"dst": "0.0.0.0/0"}], "dataDir": "/run/pods-addresses"}},
  {"type": "portmap", "capabilities": {"portMappings": true}}
]}
`, n.pods())
}

// containerdConfig has nothing but what differs from the defaults. The machine's root may lack the right to make a process less likely to
// be ended for want of memory, without which no container starts unless restrict_oom_score_adj is set.
const containerdConfig = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + pauseImage + `"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "` + networkPlugins + `"
    conf_dir = "` + networkConfigs + `"
`

const (
	networkPlugins   = "/usr/lib/cni"
	networkConfigs   = "/opt/cni/net.d"
	containerdSocket = "/run/containerd/containerd.sock"
)

// kubeletConfig: its rights and certificates are as a cluster's; what it takes for granted of a machine of its own is turned off.
func (n node) kubeletConfig(f folder) string {
	return fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication: {anonymous: {enabled: false}, webhook: {enabled: true}, x509: {clientCAFile: %q}}
authorization: {mode: Webhook}
tlsCertFile: %q
tlsPrivateKeyFile: %q
containerRuntimeEndpoint: unix://%s
cgroupDriver: cgroupfs
cgroupRoot: /%s
failCgroupV1: false
failSwapOn: false
oomScoreAdj: 0
resolvConf: ""
enforceNodeAllocatable: [pods]
# The disk and its images are shared with everything else on this machine.
evictionHard: {memory.available: 100Mi, nodefs.available: 1%%, imagefs.available: 1%%}
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
nodeStatusUpdateFrequency: 5s
nodeLeaseDurationSeconds: 20
`, f.join("pki", "ca.crt"), f.join("pki", n.name+".crt"), f.join("pki", n.name+".key"), containerdSocket, n.cgroup())
}

// kubeletSysctls are the machine's settings that a kubelet writes. It finds them as it wants them, in files that lie over the real ones.
var kubeletSysctls = map[string]string{
	"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
	"kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000",
}

// ownFolders are the folders that a node has for itself, so that volumes, sockets and containers are where they always are.
var ownFolders = []string{"/var/lib", "/var/log", "/run", "/opt", "/mnt", "/srv"}
