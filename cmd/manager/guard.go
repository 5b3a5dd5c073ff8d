package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/guard"
)

// newGuardCommand is what guard pods run.
func newGuardCommand() *cobra.Command {
	var node, mode string
	command := &cobra.Command{
		Use:   "guard",
		Short: "Stands on a node that holds streams, so that kubectl drain waits for them",
		Long: "Does nothing until it is asked to end (SIGTERM). In mode Strict it ends at once: the API server has refused to evict it\n" +
			"for as long as the node held streams. In mode Graceful it ends when the streams have left the node.",
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return runGuard(command.Context(), node, guard.Mode(mode))
		},
	}
	command.Flags().StringVar(&node, "node", "", "the node that is guarded")
	command.Flags().StringVar(&mode, "drain-mode", string(guard.Strict), "Strict or Graceful")
	return command
}

func runGuard(ctx context.Context, node string, mode guard.Mode) error {
	ctrl.SetLogger(zap.New())
	log := ctrl.Log.WithValues("node", node)
	log.Info("Guarding the node", "mode", mode)
	<-ctx.Done()
	if mode != guard.Graceful {
		return nil
	}
	scheme := runtime.NewScheme()
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("finding the API server: %w", err)
	}
	reader, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	// The kubelet ends the wait when the pod's grace is over.
	return guard.AwaitDrained(context.WithoutCancel(ctx), reader, node, func(message string) { log.Info(message) })
}
