package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/load"
	"github.com/streamshift/streamshift/test/localcluster"
	"github.com/streamshift/streamshift/test/timeline"
)

const (
	namespace = "default"
	stream    = "orders"
	// writerPause keeps two writers from using up a small machine that runs everything else, too.
	writerPause = time.Millisecond
)

var nodes = []string{"node-a", "node-b"}

// measure starts everything, and takes samples in turns: of the floor, of a time without transfer, of a transfer.
func measure(ctx context.Context, transfers int, progress io.Writer) (result *result, err error) {
	cluster, err := localcluster.Start(ctx, localcluster.Options{Progress: progress})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	streamshift, err := cluster.StartStreamshift(ctx, localcluster.Layout{Nodes: nodes})
	if err != nil {
		return nil, err
	}
	owner, err := createStream(ctx, cluster)
	if err != nil {
		return nil, err
	}
	floor, err := newFloor(ctx, cluster.RESTConfig(), cluster.Client(), cluster.StoreURL()+"-floor")
	if err != nil {
		return nil, err
	}
	defer floor.stop()

	run := load.Start(ctx, load.Options{
		URL:       streamshift.Gateway.URL() + "/v1/stream/" + namespace + "/" + stream,
		Producers: 1, Appenders: 1, Readers: 1, Pause: writerPause,
	})
	result, turnsErr := takeTurns(ctx, cluster.Client(), run, floor, owner, transfers)
	tally, err := run.Stop(ctx)
	if err := errors.Join(turnsErr, err); err != nil {
		return nil, fmt.Errorf("%w; failed requests: %v", err, run.Faults())
	}
	result.tally = tally
	return result, nil
}

// createStream makes the stream and returns the node that owns it.
func createStream(ctx context.Context, cluster *localcluster.Cluster) (string, error) {
	if err := cluster.ApplySample(ctx, "stream.yaml"); err != nil {
		return "", err
	}
	if _, err := cluster.Kubectl(ctx, "wait", "--for=condition=Ready", "stream/"+stream, "--timeout=60s"); err != nil {
		return "", err
	}
	var placed v1alpha1.Stream
	if err := cluster.Client().Get(ctx, client.ObjectKey{Namespace: namespace, Name: stream}, &placed); err != nil {
		return "", fmt.Errorf("reading the stream: %w", err)
	}
	return placed.Status.Node, nil
}

func takeTurns(ctx context.Context, c client.WithWatch, run *load.Run, floor *floor, owner string, transfers int) (*result, error) {
	result := &result{}
	for i := range transfers {
		hop, err := floor.hop(ctx)
		if err != nil {
			return nil, err
		}
		put, err := floor.put(ctx)
		if err != nil {
			return nil, err
		}
		target := nodes[0]
		if owner == target {
			target = nodes[1]
		}
		line, err := transfer(ctx, c, run, fmt.Sprintf("bench-%d", i), target)
		if err != nil {
			return nil, err
		}
		owner = target
		// The time right after the window and as long as it, with the same statistic.
		quiet, err := timeline.AwaitGap(ctx, run, line.Gap.After, line.Gap.After.Add(line.Gap.Length()))
		if err != nil {
			return nil, err
		}
		result.control.add(quiet.Length())
		result.hop.add(hop)
		result.put.add(put)
		result.window.add(line.Gap.Length())
		result.closing.add(line.Committed.Sub(line.Stopped))
		result.delivery.add(line.Opened.Sub(line.Committed))
	}
	return result, nil
}

func transfer(ctx context.Context, c client.WithWatch, run *load.Run, name, target string) (timeline.Timeline, error) {
	object := &v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.StreamTransferSpec{Stream: stream, Target: target},
	}
	if err := c.Create(ctx, object); err != nil {
		return timeline.Timeline{}, fmt.Errorf("asking for transfer %s: %w", name, err)
	}
	return timeline.Await(ctx, c, run, client.ObjectKeyFromObject(object))
}
