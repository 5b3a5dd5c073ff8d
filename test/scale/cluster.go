package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/streamshift/streamshift/test/localcluster"
)

// onCluster does everything to a gateway and to a node of a real cluster.
func onCluster(ctx context.Context, c crowd, out io.Writer) (err error) {
	cluster, err := localcluster.Start(ctx, localcluster.Options{Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	streamshift, err := cluster.StartStreamshift(ctx, localcluster.Layout{Nodes: []string{"node-a"}})
	if err != nil {
		return err
	}
	node := streamshift.Nodes["node-a"]
	fronts := []front{
		{name: "gateway", url: streamshift.Gateway.URL(), pid: streamshift.Gateway.PID()},
		{name: "node", url: node.URL(), pid: node.PID()},
	}
	var errs []error
	for _, f := range fronts {
		errs = append(errs, tryFront(ctx, f, fronts, c, out))
	}
	return errors.Join(errs...)
}
