//go:build linux

package kubelets

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// GracePeriod is how long a node may say nothing until it is taken for not ready.
const GracePeriod = 20 * time.Second

// Bounds of waits, on a busy machine.
const (
	apiServerTimeout = 120 * time.Second
	nodesTimeout     = 120 * time.Second
)

// startControlPlane starts etcd, the API server, the controller manager and the scheduler, each alone and without an election. The last two
// end by themselves where the API server takes long, so they come when it is ready.
func (c *Cluster) startControlPlane(ctx context.Context) error {
	pki := func(name string) string { return c.folder.join("pki", name) }
	programs := []struct {
		name string
		args []string
	}{
		{"etcd", []string{
			"--data-dir=" + c.folder.join("etcd"),
			"--listen-client-urls=http://127.0.0.1:2379", "--advertise-client-urls=http://127.0.0.1:2379",
			"--listen-peer-urls=http://127.0.0.1:2380", "--initial-advertise-peer-urls=http://127.0.0.1:2380",
			"--initial-cluster=default=http://127.0.0.1:2380", "--log-level=warn",
		}},
		{"kube-apiserver", []string{
			"--etcd-servers=http://127.0.0.1:2379",
			"--bind-address=0.0.0.0", "--advertise-address=" + controlAddress, "--secure-port=6443",
			"--service-cluster-ip-range=" + serviceNetwork, "--cert-dir=" + c.folder.join("apiserver"),
			"--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"), "--client-ca-file=" + pki("ca.crt"),
			"--kubelet-client-certificate=" + pki("apiserver-kubelet-client.crt"),
			"--kubelet-client-key=" + pki("apiserver-kubelet-client.key"),
			"--kubelet-certificate-authority=" + pki("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			"--service-account-key-file=" + pki("service-accounts.key"),
			"--service-account-signing-key-file=" + pki("service-accounts.key"),
			"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
			"--enable-aggregator-routing=true", // no kube-proxy runs beside it: webhooks are called at their pods
			"--shutdown-watch-termination-grace-period=1s",
		}},
		{"kube-controller-manager", []string{
			"--kubeconfig=" + c.folder.kubeconfig("kube-controller-manager"), "--bind-address=127.0.0.1", "--leader-elect=false",
			"--use-service-account-credentials=true", "--service-account-private-key-file=" + pki("service-accounts.key"),
			"--root-ca-file=" + pki("ca.crt"), "--cluster-signing-cert-file=" + pki("ca.crt"), "--cluster-signing-key-file=" + pki("ca.key"),
			"--node-monitor-period=2s", "--node-monitor-grace-period=" + GracePeriod.String(),
		}},
		{"kube-scheduler", []string{
			"--kubeconfig=" + c.folder.kubeconfig("kube-scheduler"), "--bind-address=127.0.0.1", "--leader-elect=false",
		}},
	}
	for _, program := range programs {
		started, err := c.folder.start(control, program.name, c.programs.kubernetes(program.name), program.args...)
		if err != nil {
			return err
		}
		c.processes = append(c.processes, started)
		if program.name != "kube-apiserver" {
			continue
		}
		ready := func(ctx context.Context) error {
			return command(ctx, "nsenter", "--net="+control.namespacePath(), c.Kubectl(), "--kubeconfig="+c.Kubeconfig(), "get", "--raw=/readyz")
		}
		if err := await(ctx, "the API server to be ready", apiServerTimeout, ready); err != nil {
			return err
		}
	}
	return nil
}

// startClientsProxy starts the kube-proxy of the clients' machine. No kubelet is there, so it takes itself for one of the nodes; that
// says only which of a Service's pods are near, and none of the Services here asks for that.
func (c *Cluster) startClientsProxy() error {
	config, err := c.folder.write([]byte(c.folder.proxyConfig()), "clients", "kube-proxy.yaml")
	if err != nil {
		return err
	}
	proxy, err := c.folder.start(clients, "clients-kube-proxy", c.programs.kubernetes("kube-proxy"),
		"--config="+config, "--hostname-override="+NodeNames[0])
	if err != nil {
		return err
	}
	c.processes = append(c.processes, proxy)
	return nil
}

func (f folder) proxyConfig() string {
	return fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clusterCIDR: %s
clientConnection: {kubeconfig: %q}
# Zeros leave the machine's own sysctls alone.
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
`, podNetwork, f.kubeconfig("kube-proxy"))
}

// administratorConfig is for whoever is in the clients' namespace, and without a rate limit.
func (f folder) administratorConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", f.kubeconfig(administrator))
	if err != nil {
		return nil, fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	config.QPS = -1
	return config, nil
}

// awaitNode waits until the node says of itself that it is ready, since the moment given.
func awaitNode(ctx context.Context, api kubernetes.Interface, name, boot string) error {
	return await(ctx, "node "+name+" to be ready", nodesTimeout, func(ctx context.Context) error {
		node, err := api.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("reading it: %w", err)
		}
		if node.Status.NodeInfo.BootID == boot {
			return fmt.Errorf("it has not been heard of since boot %s", boot)
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == "Ready" && condition.Status == "True" {
				return nil
			}
		}
		return fmt.Errorf("its conditions are %v", node.Status.Conditions)
	})
}
