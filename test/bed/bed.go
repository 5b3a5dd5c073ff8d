package bed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/streamshift/streamshift/internal/crashpoint"
	"github.com/streamshift/streamshift/test/localcluster"
)

// tag is the build tag of the programs.
const tag = "crashpoints"

// Ways says how nodes and what they talk to reach each other.
type Ways int

const (
	// Straight: a node that has died refuses connections.
	Straight Ways = iota
	// Cuttable: through a proxy each, which takes connections even where the node has died.
	Cuttable
)

// Options of a bed.
type Options struct {
	Ways Ways
	// Nodes are the names of the nodes.
	Nodes []string
	// ManagerArgs, NodeArgs and GatewayArgs follow the ones that are given anyway.
	ManagerArgs, NodeArgs, GatewayArgs []string
	// Progress is told what is started.
	Progress io.Writer
}

// Bed is a cluster with Streamshift on it.
type Bed struct {
	Cluster *localcluster.Cluster
	Manager *localcluster.Process
	Gateway *localcluster.Process
	Nodes   map[string]*Node
	// folder holds what arms crash points, and what stores do wrong.
	folder string
}

// Node is one node, and the ways to it that can be cut.
type Node struct {
	*localcluster.Process

	// ToAPIServer carries what the node says to the API server, ToNode what gateways say to the node; nil where the ways
	// are straight.
	ToAPIServer, ToNode *Proxy
	faults              string
}

// Start builds and starts everything. The caller ends it with Stop.
func Start(ctx context.Context, options Options) (*Bed, error) {
	programs, err := localcluster.BuildWithTag(ctx, tag)
	if err != nil {
		return nil, err //nolint:wrapcheck // says what it was doing
	}
	folder, err := os.MkdirTemp("", "streamshift-bed-*")
	if err != nil {
		return nil, fmt.Errorf("making the bed's folder: %w", err)
	}
	// The processes inherit it.
	if err := os.Setenv(crashpoint.FolderVariable, folder); err != nil {
		return nil, fmt.Errorf("telling the processes of the bed's folder: %w", err)
	}
	b := &Bed{Nodes: map[string]*Node{}, folder: folder}
	if b.Cluster, err = localcluster.Start(ctx, localcluster.Options{Programs: programs, Progress: options.Progress}); err != nil {
		return nil, errors.Join(err, b.Stop())
	}
	if err := b.start(ctx, options); err != nil {
		return nil, errors.Join(err, b.Stop())
	}
	return b, nil
}

func (b *Bed) start(ctx context.Context, options Options) error {
	if err := b.Cluster.InstallStreamshift(ctx); err != nil {
		return fmt.Errorf("installing Streamshift: %w", err)
	}
	var err error
	if b.Manager, err = b.Cluster.StartManager(ctx, localcluster.ManagerOptions{Args: options.ManagerArgs}); err != nil {
		return fmt.Errorf("starting the manager: %w", err)
	}
	for _, name := range options.Nodes {
		if err := b.startNode(ctx, name, options); err != nil {
			return fmt.Errorf("starting node %s: %w", name, err)
		}
	}
	for _, name := range options.Nodes {
		if err := b.Cluster.AwaitNode(ctx, name); err != nil {
			return fmt.Errorf("waiting for node %s: %w", name, err)
		}
	}
	if b.Gateway, err = b.Cluster.StartGateway(ctx, localcluster.GatewayOptions{Args: options.GatewayArgs}); err != nil {
		return fmt.Errorf("starting the gateway: %w", err)
	}
	return nil
}

func (b *Bed) startNode(ctx context.Context, name string, options Options) error {
	n := &Node{faults: filepath.Join(b.folder, name+".faults")}
	b.Nodes[name] = n
	var args []string
	if options.Ways == Cuttable {
		var err error
		if args, err = b.makeWays(ctx, name, n); err != nil {
			return err
		}
	}
	var err error
	n.Process, err = b.Cluster.StartNode(ctx, localcluster.NodeOptions{
		Name: name, Slots: 100, Store: b.Cluster.StoreURL() + "?faults=" + n.faults, Args: append(args, options.NodeArgs...),
	})
	if err != nil {
		return err //nolint:wrapcheck // says what it was doing
	}
	if n.ToNode != nil {
		n.ToNode.Lead(n.URL())
	}
	return nil
}

// makeWays starts the node's proxies, and returns the arguments that lead through them.
func (b *Bed) makeWays(ctx context.Context, name string, n *Node) (args []string, err error) {
	if n.ToNode, err = NewProxy(); err != nil { //nolint:contextcheck // it outlives the start
		return nil, err
	}
	if n.ToAPIServer, err = NewProxy(); err != nil { //nolint:contextcheck // it outlives the start
		return nil, err
	}
	n.ToAPIServer.Lead(b.Cluster.RESTConfig().Host)
	// The node must exist before a token can be bound to it.
	if err := b.Cluster.CreateNode(ctx, name); err != nil {
		return nil, err //nolint:wrapcheck // says what it was doing
	}
	kubeconfig, err := b.Cluster.AccountKubeconfig(ctx, localcluster.NodeAccount, name)
	if err != nil {
		return nil, err //nolint:wrapcheck // says what it was doing
	}
	through, err := n.ToAPIServer.kubeconfigThrough(kubeconfig, filepath.Join(b.folder, name+".kubeconfig"))
	if err != nil {
		return nil, err
	}
	return []string{"--kubeconfig=" + through, "--advertise-url=" + n.ToNode.URL()}, nil
}

// Stop ends everything.
func (b *Bed) Stop() error {
	var errs []error
	if b.Cluster != nil {
		errs = append(errs, b.Cluster.Stop())
	}
	for _, n := range b.Nodes {
		for _, p := range []*Proxy{n.ToAPIServer, n.ToNode} {
			if p != nil {
				errs = append(errs, p.Close())
			}
		}
	}
	return errors.Join(append(errs, os.RemoveAll(b.folder))...)
}

// Arm has the present life of a process end as it passes a point for the n-th time.
func (b *Bed) Arm(pid int, point crashpoint.Point, n int) error {
	path := filepath.Join(b.folder, strconv.Itoa(pid))
	if err := os.WriteFile(path+".tmp", fmt.Appendf(nil, "%s %d", point, n), 0o600); err != nil {
		return fmt.Errorf("arming %s: %w", point, err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return fmt.Errorf("arming %s: %w", point, err)
	}
	return nil
}

// Disarm takes that back.
func (b *Bed) Disarm(pid int) error {
	err := os.Remove(filepath.Join(b.folder, strconv.Itoa(pid)))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("disarming: %w", err)
	}
	return nil
}

// Hit tells whether that life has ended at its point.
func (b *Bed) Hit(pid int) bool {
	_, err := os.Stat(filepath.Join(b.folder, strconv.Itoa(pid)+".hit"))
	return err == nil
}

// SetClock has the clock of the present life of a process be wrong by so much; 0: right again.
func (b *Bed) SetClock(pid int, wrongBy time.Duration) error {
	path := filepath.Join(b.folder, strconv.Itoa(pid)+".clock")
	if err := os.WriteFile(path+".tmp", strconv.AppendInt(nil, wrongBy.Milliseconds(), 10), 0o600); err != nil {
		return fmt.Errorf("setting a clock: %w", err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		return fmt.Errorf("setting a clock: %w", err)
	}
	return nil
}

// Faults are what a node's object store does wrong; the zero value: nothing. See the store's package for what each means.
type Faults struct {
	Slow    int64   `json:"slow,omitempty"`
	Fail    float64 `json:"fail,omitempty"`
	Applied float64 `json:"applied,omitempty"`
	Late    float64 `json:"late,omitempty"`
	LateBy  int64   `json:"lateBy,omitempty"`
}

// SetFaults has the node's object store do wrong.
func (n *Node) SetFaults(f Faults) error {
	content, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("encoding faults: %w", err)
	}
	if err := os.WriteFile(n.faults, content, 0o600); err != nil {
		return fmt.Errorf("having a store fail: %w", err)
	}
	return nil
}
