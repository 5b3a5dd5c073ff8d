// Command kubectl-stream is "kubectl stream": kubectl runs it where it is in the PATH.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/streamshift/streamshift/internal/kubectlstream"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := kubectlstream.Main(ctx, kubectlstream.ProcessEnvironment(), os.Args[1:])
	stop()
	os.Exit(int(status))
}
