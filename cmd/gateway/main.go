// Command gateway is what clients of streams talk to: it finds the node that owns a stream, and hides that owners change.
package main

import (
	"cmp"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/streamshift/streamshift/internal/commandline"
)

func main() {
	if err := newCommand().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "gateway:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	o := defaultOptions()
	command := &cobra.Command{
		Use:           "gateway",
		Short:         "Serve streams to clients, whichever node owns them.",
		Version:       commandline.Version(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		PreRunE: func(c *cobra.Command, _ []string) error {
			return cmp.Or(commandline.CheckNumbers(c.Flags()), o.secure.check())
		},
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	o.addFlags(command.Flags())
	return command
}
