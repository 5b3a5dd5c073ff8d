package localcluster

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/streamshift/streamshift/controllers/certificates"
)

// The addresses that a component may have, by what they are for.
const (
	serveAddress   = "serve"
	metricsAddress = "metrics"
	healthAddress  = "health"
	webhookAddress = "webhook"
	// schemeAddress is no address: how the component serves streams.
	schemeAddress = "scheme"
)

// ManagerOptions of one manager process.
type ManagerOptions struct {
	// Name of the process; "manager" where empty. Several managers elect a leader.
	Name string
	// Args follow the ones that the cluster gives.
	Args []string
}

// NodeOptions of one node agent.
type NodeOptions struct {
	// Name of the Kubernetes Node, which is created, and of the process.
	Name string
	// Slots is how many streams the node may hold.
	Slots int
	// Store is the URL of the object store; the cluster's own, which all its nodes share, where empty.
	Store string
	// Args follow the ones that the cluster gives.
	Args []string
}

// GatewayOptions of one gateway.
type GatewayOptions struct {
	// Name of the process; "gateway" where empty.
	Name string
	// ParkTimeout is how long a request may wait for a node that can serve it; the gateway's default where 0.
	ParkTimeout time.Duration
	// Args follow the ones that the cluster gives.
	Args []string
}

// Build builds manager, node, gateway and every other program of cmd/ into bin/ of the checkout. It does nothing where they
// are up to date.
func Build(ctx context.Context) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "make", "--no-print-directory", "build")
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("building Streamshift's programs: %w\n%s", err, output)
	}
	return nil
}

// BuildWithTag builds manager, node and gateway with a build tag into a folder of their own below bin/, for Options.Programs.
func BuildWithTag(ctx context.Context, tag string) (folder string, err error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	folder = filepath.Join(root, "bin", tag)
	args := []string{"build", "-tags", tag, "-o", folder + "/", "./cmd/manager", "./cmd/node", "./cmd/gateway"}
	command := exec.CommandContext(ctx, "go", args...) //nolint:gosec // the tag is the caller's
	command.Dir = root
	if output, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building Streamshift's programs with tag %s: %w\n%s", tag, err, output)
	}
	return folder, nil
}

// StartManager starts a manager and, where it is the first one, points the webhook at it.
func (c *Cluster) StartManager(ctx context.Context, options ManagerOptions) (*Process, error) {
	if options.Name == "" {
		options.Name = "manager"
	}
	kubeconfig, err := c.AccountKubeconfig(ctx, ManagerAccount, "")
	if err != nil {
		return nil, err
	}
	isServer := c.webhookServer == "" || c.webhookServer == options.Name
	arguments := func(addresses map[string]string) ([]string, error) {
		if isServer {
			if err := c.installWebhook(ctx, addresses[webhookAddress]); err != nil {
				return nil, err
			}
		}
		return append([]string{
			"--kubeconfig=" + kubeconfig,
			"--leader-elect",
			"--leader-election-namespace=" + SystemNamespace,
			"--webhook-bind-address=" + addresses[webhookAddress],
			"--gateway-dns-names=" + gatewayHost,
			"--drain-mode=Off", // there is no kubelet to run guards
		}, options.Args...), nil
	}
	process, err := c.startComponent(ctx, options.Name, "manager", []string{metricsAddress, healthAddress, webhookAddress}, arguments)
	if err != nil || !isServer {
		return process, err
	}
	c.webhookServer = options.Name
	return process, c.awaitWebhooks(ctx)
}

// StartNode creates the Kubernetes Node and starts the agent on it.
func (c *Cluster) StartNode(ctx context.Context, options NodeOptions) (*Process, error) {
	if options.Store == "" {
		options.Store = c.StoreURL()
	}
	if err := c.CreateNode(ctx, options.Name); err != nil {
		return nil, err
	}
	kubeconfig, err := c.AccountKubeconfig(ctx, NodeAccount, options.Name)
	if err != nil {
		return nil, err
	}
	secure, err := c.secureArgs(ctx, certificates.NodeSecret)
	if err != nil {
		return nil, err
	}
	return c.startComponent(ctx, options.Name, "node", []string{metricsAddress, healthAddress, serveAddress},
		func(addresses map[string]string) ([]string, error) {
			return slices.Concat([]string{
				"--kubeconfig=" + kubeconfig,
				"--node-name=" + options.Name,
				"--slots=" + strconv.Itoa(options.Slots),
				"--store=" + options.Store,
				"--listen-address=" + addresses[serveAddress],
				"--advertise-url=" + c.scheme() + "://" + addresses[serveAddress],
			}, secure, options.Args), nil
		})
}

// StartGateway starts a gateway, which serves streams of the namespace "default" by their bare names, too.
func (c *Cluster) StartGateway(ctx context.Context, options GatewayOptions) (*Process, error) {
	if options.Name == "" {
		options.Name = "gateway"
	}
	kubeconfig, err := c.AccountKubeconfig(ctx, GatewayAccount, "")
	if err != nil {
		return nil, err
	}
	secure, err := c.secureArgs(ctx, certificates.GatewaySecret)
	if err != nil {
		return nil, err
	}
	if c.options.Security == SecurityNone {
		secure = append(secure, "--access=Open")
	}
	return c.startComponent(ctx, options.Name, "gateway", []string{metricsAddress, healthAddress, serveAddress},
		func(addresses map[string]string) ([]string, error) {
			args := []string{
				"--kubeconfig=" + kubeconfig,
				"--listen-address=" + addresses[serveAddress],
				"--default-namespace=default",
			}
			if options.ParkTimeout > 0 {
				args = append(args, "--park-timeout="+options.ParkTimeout.String())
			}
			return slices.Concat(args, secure, options.Args), nil
		})
}

// StoreURL names the object store that nodes of this cluster share unless told otherwise: files in the cluster's folder.
func (c *Cluster) StoreURL() string { return "file://" + c.folder.join("store") }

// startComponent starts a program of cmd/ with fresh addresses; args gets them and returns the component's own arguments.
func (c *Cluster) startComponent(
	ctx context.Context, name, command string, purposes []string, args func(map[string]string) ([]string, error),
) (*Process, error) {
	root, err := moduleRoot()
	if err != nil {
		return nil, err
	}
	c.progress("Starting %s", name)
	path := filepath.Join(root, "bin", command)
	if c.options.Programs != "" {
		path = filepath.Join(c.options.Programs, command)
	}
	return c.startProgram(ctx, program{name: name, path: path, keeper: keptByCluster, arguments: func() (invocation, error) {
		addresses := map[string]string{}
		for _, purpose := range purposes {
			address, err := c.ports.takeAddress()
			if err != nil {
				return invocation{}, err
			}
			addresses[purpose] = address
		}
		addresses[schemeAddress] = c.scheme()
		own, err := args(addresses)
		if err != nil {
			return invocation{}, err
		}
		return invocation{
			args: append([]string{
				"--metrics-bind-address=" + addresses[metricsAddress],
				"--health-probe-bind-address=" + addresses[healthAddress],
			}, own...),
			// Nodes count as started without a store, too: what they do then is tested.
			readyURL:  "http://" + addresses[healthAddress] + "/readyz?exclude=store",
			addresses: addresses,
		}, nil
	}})
}

// scheme is how nodes and gateways serve streams.
func (c *Cluster) scheme() string {
	if c.options.Security == SecurityNone {
		return "http"
	}
	return "https"
}

// URL is where a node or a gateway serves streams.
func (p *Process) URL() string {
	address := p.addresses[serveAddress]
	if p.addresses[schemeAddress] == "https" {
		_, port, err := net.SplitHostPort(address)
		if err == nil {
			address = net.JoinHostPort(gatewayHost, port) // the certificate has the name, not the address
		}
	}
	return p.addresses[schemeAddress] + "://" + address
}

// Address is where a node or a gateway listens.
func (p *Process) Address() string { return p.addresses[serveAddress] }

// MetricsURL is where a component of Streamshift shows its metrics, to those whose role lets them get the path.
func (p *Process) MetricsURL() string { return "https://" + p.addresses[metricsAddress] + "/metrics" }
