package localcluster

import (
	"context"
	"errors"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// defaultSlots is how many streams a node of Streamshift holds unless told otherwise.
const defaultSlots = 100

// Layout says what of Streamshift to start.
type Layout struct {
	// Nodes are the names of the nodes.
	Nodes []string
	// Slots is how many streams each node may hold; defaultSlots where 0.
	Slots int
	// ManagerArgs, NodeArgs and GatewayArgs follow the ones that the cluster gives.
	ManagerArgs, NodeArgs, GatewayArgs []string
}

// Streamshift is one manager, the nodes and one gateway, all of them processes that run on a cluster.
type Streamshift struct {
	Manager *Process
	// Nodes by name.
	Nodes   map[string]*Process
	Gateway *Process
}

// StartStreamshift builds the programs, installs what they need and starts them. It returns once every one is ready.
func (c *Cluster) StartStreamshift(ctx context.Context, layout Layout) (*Streamshift, error) {
	if layout.Slots == 0 {
		layout.Slots = defaultSlots
	}
	if c.options.Programs == "" {
		c.progress("Building manager, node and gateway; the first time may take some minutes")
		if err := Build(ctx); err != nil {
			return nil, err
		}
	}
	if err := c.InstallStreamshift(ctx); err != nil {
		return nil, err
	}
	started := &Streamshift{Nodes: map[string]*Process{}}
	var err error
	if started.Manager, err = c.StartManager(ctx, ManagerOptions{Args: layout.ManagerArgs}); err != nil {
		return nil, err
	}
	for _, name := range layout.Nodes {
		options := NodeOptions{Name: name, Slots: layout.Slots, Args: layout.NodeArgs}
		if started.Nodes[name], err = c.StartNode(ctx, options); err != nil {
			return nil, err
		}
	}
	for _, name := range layout.Nodes {
		if err := c.AwaitNode(ctx, name); err != nil {
			return nil, err
		}
	}
	if started.Gateway, err = c.StartGateway(ctx, GatewayOptions{Args: layout.GatewayArgs}); err != nil {
		return nil, err
	}
	return started, nil
}

// AwaitNode waits until the node is registered, the manager takes it for ready, and both have forgotten that an agent before it was about
// to end.
func (c *Cluster) AwaitNode(ctx context.Context, name string) error {
	return poll(ctx, "node "+name+" to be taken for ready", startTimeout, func(ctx context.Context) error {
		var node v1alpha1.StreamNode
		if err := c.client.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
			return fmt.Errorf("reading it: %w", err)
		}
		if !meta.IsStatusConditionTrue(node.Status.Conditions, v1alpha1.ConditionReady) {
			return fmt.Errorf("its conditions are %v", node.Status.Conditions)
		}
		draining := meta.FindStatusCondition(node.Status.Conditions, v1alpha1.ConditionDraining)
		if node.Status.Stopping || draining != nil && draining.Reason == v1alpha1.ReasonStopping {
			return errors.New("its agent is about to end")
		}
		return nil
	})
}

// AwaitRenewals waits until each node has renewed its lease and is taken for ready. While the API server was away the manager saw no renewal,
// and may take nodes for dead right after it came back.
func (c *Cluster) AwaitRenewals(ctx context.Context, names ...string) error {
	for _, name := range names {
		before := ""
		err := poll(ctx, "node "+name+" to renew its lease", startTimeout, func(ctx context.Context) error {
			var lease coordinationv1.Lease
			if err := c.client.Get(ctx, client.ObjectKey{Namespace: v1alpha1.NodeLeaseNamespace, Name: name}, &lease); err != nil {
				return fmt.Errorf("reading it: %w", err)
			}
			if before == "" {
				before = lease.ResourceVersion
			}
			if lease.ResourceVersion == before {
				return errors.New("it is as it was")
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := c.AwaitNode(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// InstallStreamshift installs everything that the components need but the webhook, which StartManager installs.
func (c *Cluster) InstallStreamshift(ctx context.Context) error {
	for _, namespace := range []string{SystemNamespace, v1alpha1.NodeLeaseNamespace, "default", "kube-public"} {
		if err := c.CreateNamespace(ctx, namespace); err != nil {
			return err
		}
	}
	return c.Install(ctx, "crd", "rbac", "policy/admission")
}
