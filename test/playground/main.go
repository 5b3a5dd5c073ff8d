// Command playground starts Streamshift on this machine, a real control plane included, and leaves it up until Ctrl-C.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/streamshift/streamshift/test/localcluster"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "playground:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	log.SetLogger(logr.Discard()) // of the clients; what they meet comes back as errors
	cluster, err := localcluster.Start(ctx, localcluster.Options{Progress: out})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	streamshift, err := cluster.StartStreamshift(ctx, localcluster.Layout{Nodes: []string{"node-a", "node-b", "node-c"}})
	if err != nil {
		return err
	}
	fmt.Fprintf(out, usage, cluster.Kubeconfig(), cluster.KubectlPath(), streamshift.Gateway.URL(), cluster.Folder())
	<-ctx.Done()
	fmt.Fprintln(out, "\nStopping everything")
	return nil
}

// usage has the verbs kubeconfig, kubectl, the gateway's URL, and the folder of the logs.
const usage = `
Streamshift is up: a manager, three nodes and a gateway. Ctrl-C ends and removes it all. In another terminal:

  export KUBECONFIG=%s
  alias kubectl=%s
  export GATEWAY=%s

Create a stream, append to it, read it:

  kubectl apply -f config/samples/stream.yaml
  kubectl get streams,streamnodes
  curl -i -X POST -H 'Content-Type: application/json' -d '{"order": 1}' $GATEWAY/v1/stream/default/orders
  curl -i "$GATEWAY/v1/stream/default/orders?offset=-1"

Hand it over to node-b (where it is there already, nothing happens), and append to where it is now, by the same URL:

  kubectl apply -f config/samples/streamtransfer.yaml
  kubectl get streamtransfers
  curl -i -X POST -H 'Content-Type: application/json' -d '{"order": 2}' $GATEWAY/v1/stream/default/orders

With bin in the PATH (make build), "kubectl stream" does more, and streamlog looks into the store:

  export PATH=$PWD/bin:$PATH STREAMSHIFT_GATEWAY=$GATEWAY
  kubectl stream status orders
  kubectl stream append orders '{"order": 3}'
  kubectl stream drain node-b; kubectl stream uncordon node-b
  streamlog verify --store file://%[4]s/store $(kubectl get stream orders -o jsonpath='{.metadata.uid}')

Logs are in %[4]s
`
