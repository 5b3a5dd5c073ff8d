//go:build linux

package kubelets

import (
	"encoding/json"
	"net/netip"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestEveryNodeHasAddressesOfItsOwn(t *testing.T) {
	seen := map[netip.Addr]string{netip.MustParseAddr(controlAddress): "control", netip.MustParseAddr(clientsAddress): "clients"}
	subnets := map[netip.Prefix]string{}
	for _, n := range nodes() {
		address := netip.MustParseAddr(n.address)
		if !netip.MustParsePrefix(network).Contains(address) {
			t.Errorf("%s is at %s, outside of %s", n.name, address, network)
		}
		if other := seen[address]; other != "" {
			t.Errorf("%s and %s are both at %s", n.name, other, address)
		}
		pods := netip.MustParsePrefix(n.pods())
		if !netip.MustParsePrefix(podNetwork).Contains(pods.Addr()) {
			t.Errorf("the pods of %s are in %s, outside of %s", n.name, pods, podNetwork)
		}
		if other := subnets[pods]; other != "" {
			t.Errorf("%s and %s have the same pods' network %s", n.name, other, pods)
		}
		seen[address], subnets[pods] = n.name, n.name
	}
}

func TestFilesOfANodeAreWellFormed(t *testing.T) {
	n, f := nodes()[0], folder("/with spaces: and colons")
	var object map[string]any
	if err := json.Unmarshal([]byte(n.podsNetwork()), &object); err != nil {
		t.Errorf("the pods' network: %v", err)
	}
	for name, content := range map[string]string{
		"kubelet": n.kubeletConfig(f), "kube-proxy": f.proxyConfig(), "kubeconfig": f.kubeconfigOf(n.name),
	} {
		if err := yaml.UnmarshalStrict([]byte(content), &object); err != nil {
			t.Errorf("%s: %v\n%s", name, err, content)
		}
	}
}
