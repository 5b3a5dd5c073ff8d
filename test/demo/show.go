package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/test/load"
	"github.com/streamshift/streamshift/test/localcluster"
	"github.com/streamshift/streamshift/test/timeline"
)

const (
	namespace = "default"
	stream    = "orders"
	source    = "node-a"
	// calm is how long the load goes on before each transfer and after the last one, to have something to compare with.
	calm = time.Second
	// writerPause keeps two writers from using up a small machine that runs everything else, too.
	writerPause = time.Millisecond
)

// back returns the stream to where it was; config/samples/streamtransfer.yaml is the way there.
const back = `apiVersion: streamshift.io/v1alpha1
kind: StreamTransfer
metadata:
  name: orders-back
  namespace: default
spec:
  stream: orders
  target: ` + source + `
`

func show(ctx context.Context, out *printer) (err error) {
	out.line(bold, "A stream changes its owner under load, and back.")
	out.line(dim, "Everything runs on this machine and is removed at the end. The first time, what is needed is built: up to 15 minutes.")

	out.heading("Starting a control plane, a manager, three nodes and a gateway")
	cluster, err := localcluster.Start(ctx, localcluster.Options{Progress: out})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	// The stream is placed while there is one node, so that the transfer's target is another one.
	streamshift, err := cluster.StartStreamshift(ctx, localcluster.Layout{Nodes: []string{source}})
	if err != nil {
		return err
	}
	if err := cluster.ApplySample(ctx, "stream.yaml"); err != nil {
		return err
	}
	if _, err := cluster.Kubectl(ctx, "wait", "--for=condition=Ready", "stream/"+stream, "--timeout=60s"); err != nil {
		return err
	}
	for _, name := range []string{"node-b", "node-c"} {
		if _, err := cluster.StartNode(ctx, localcluster.NodeOptions{Name: name, Slots: 100}); err != nil {
			return err
		}
		if err := cluster.AwaitNode(ctx, name); err != nil {
			return err
		}
	}

	out.heading("Appending through the gateway: an idempotent producer and a plain appender; a reader reads along by long-poll")
	run := load.Start(ctx, load.Options{
		URL:       streamshift.Gateway.URL() + "/v1/stream/" + namespace + "/" + stream,
		Producers: 1,
		Appenders: 1,
		Readers:   1,
		Pause:     writerPause,
	})
	transferErr := transferThereAndBack(ctx, out, cluster, run)
	tally, tallyErr := run.Stop(ctx)
	if err := errors.Join(transferErr, tallyErr); err != nil {
		return fmt.Errorf("%w\nfailed requests: %v", err, run.Faults())
	}
	out.heading("The stream, read back and compared record by record with what each writer was told")
	out.tally(tally)
	for _, fault := range run.Faults() {
		out.line(red, "  %s", fault)
	}
	if !tally.Clean() {
		return errNotClean
	}
	return nil
}

func transferThereAndBack(ctx context.Context, out *printer, cluster *localcluster.Cluster, run *load.Run) error {
	if err := letRun(ctx, calm); err != nil {
		return err
	}
	out.heading("kubectl apply -f config/samples/streamtransfer.yaml")
	err := showTransfer(ctx, out, cluster, run, "orders-to-node-b", func() error { return cluster.ApplySample(ctx, "streamtransfer.yaml") })
	if err != nil {
		return err
	}
	if err := letRun(ctx, calm); err != nil {
		return err
	}
	out.heading("And back, by another StreamTransfer")
	if err := showTransfer(ctx, out, cluster, run, "orders-back", func() error { return cluster.Apply(ctx, back) }); err != nil {
		return err
	}
	return letRun(ctx, calm)
}

func showTransfer(ctx context.Context, out *printer, cluster *localcluster.Cluster, run *load.Run, name string, apply func() error) error {
	applied := time.Now()
	if err := apply(); err != nil {
		return err
	}
	line, err := timeline.Await(ctx, cluster.Client(), run, client.ObjectKey{Namespace: namespace, Name: name})
	if err != nil {
		return err
	}
	quiet, ok := run.LongestGap(applied.Add(-calm/2), applied)
	if !ok {
		return errors.New("nothing was appended before the transfer")
	}
	out.timeline(line, quiet.Length())
	return nil
}

// letRun lets the load go on for a while: what it does is what is shown, so it is no wait for anything.
func letRun(ctx context.Context, duration time.Duration) error {
	select {
	case <-time.After(duration):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
