// Command demo shows a stream change its owner under load, and back: it starts a real control plane, the manager, three nodes and
// a gateway on this machine, appends and reads without pause, applies two transfers with kubectl, and counts what got lost. It
// exits with 0 only if nothing was lost, duplicated or reordered, and no request failed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

var errNotClean = errors.New("the tally is not clean")

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	log.SetLogger(logr.Discard()) // of the clients; what they meet comes back as errors
	return show(ctx, newPrinter(os.Stdout))
}
