package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/localcluster"
	"github.com/streamshift/streamshift/test/mover"
)

const (
	namespace = "default"
	// slots is how many streams a node may hold: more than the suite ever makes.
	slots = 10000
	// newest bounds the choice of the mover to the streams that the suite is using, or has used a moment ago.
	newest = 8
)

var nodes = []string{"node-a", "node-b", "node-c"}

// onCluster starts a cluster and runs the suite on it three times. While there is one node only, that node owns every
// stream and sends no request elsewhere.
func onCluster(ctx context.Context, o options, suite suite, out io.Writer) (err error) {
	cluster, err := localcluster.Start(ctx, localcluster.Options{Folder: o.folder, Progress: out})
	if err != nil {
		return fmt.Errorf("starting a cluster: %w", err)
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	var logging []string
	if o.verbosity > 0 {
		logging = []string{"--zap-log-level=" + strconv.Itoa(o.verbosity)}
	}
	nodeArgs := append([]string{"--long-poll-timeout=" + o.longPoll.String()}, logging...)
	started, err := cluster.StartStreamshift(ctx, localcluster.Layout{
		Nodes: nodes[:1], Slots: slots, NodeArgs: nodeArgs, ManagerArgs: logging,
	})
	if err != nil {
		return fmt.Errorf("starting Streamshift: %w", err)
	}
	if err := demand(ctx, suite, out, "one node", started.Nodes[nodes[0]].URL()); err != nil {
		return err
	}
	for _, name := range nodes[1:] {
		options := localcluster.NodeOptions{Name: name, Slots: slots, Args: nodeArgs}
		if _, err := cluster.StartNode(ctx, options); err != nil {
			return fmt.Errorf("starting another node: %w", err)
		}
	}
	if err := demand(ctx, suite, out, "the gateway, three nodes", started.Gateway.URL()); err != nil {
		return err
	}
	// What the suite has left behind would only be in the mover's way.
	if err := cluster.Client().DeleteAllOf(ctx, &v1alpha1.Stream{}, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("deleting the streams of the suite: %w", err)
	}
	return whileTransferring(ctx, o, suite, out, cluster, started.Gateway.URL())
}

// whileTransferring runs the suite while its streams change their owners.
func whileTransferring(ctx context.Context, o options, suite suite, out io.Writer, cluster *localcluster.Cluster, url string) error {
	mover := &mover.Mover{
		Client: cluster.Client(), Namespace: namespace, Nodes: nodes, AtOnce: o.atOnce, Newest: newest, Seed: o.seed,
	}
	_, _ = fmt.Fprintf(out, "Transferring streams, %d at once, -seed %d\n", o.atOnce, o.seed)
	moving, stop := context.WithCancel(ctx)
	defer stop()
	moved := make(chan error, 1)
	go func() { moved <- mover.Run(moving) }()
	err := demand(ctx, suite, out, "the gateway, three nodes, streams being transferred", url)
	stop()
	err = errors.Join(err, <-moved)
	counts := mover.Counts()
	for _, outcome := range slices.Sorted(maps.Keys(counts)) {
		_, _ = fmt.Fprintf(out, "  transfers %s: %d\n", outcome, counts[outcome])
	}
	return err
}
