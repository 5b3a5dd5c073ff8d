package kubectlstream

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/streamshift/streamshift/internal/commandline"
)

// Main runs the plugin with these arguments and returns its exit status.
func Main(ctx context.Context, env Environment, args []string) Status {
	return execute(ctx, newAccess(env), args)
}

func execute(ctx context.Context, a *access, args []string) Status {
	command, err := newCommand(a)
	if err == nil {
		command.SetArgs(args)
		err = command.ExecuteContext(ctx)
	}
	if err != nil {
		fmt.Fprintln(a.ErrOut, "error:", sentenceOf(err))
	}
	return statusOf(err)
}

// displayName is how people call the plugin.
const displayName = "kubectl stream"

// newCommand makes the command and all below it.
func newCommand(a *access) (*cobra.Command, error) {
	root := &cobra.Command{
		Use:   "kubectl-stream",
		Short: "See, transfer, drain, write and read the streams of Streamshift",
		Long: `See, transfer, drain, write and read the streams of Streamshift.

A stream is an append-only log that one node at a time may append to. NAME is the name of a stream as clients use it, such as
orders or Shop/Orders, or the name of its Stream object; -n names its namespace.`,
		Annotations:       map[string]string{cobra.CommandDisplayNameAnnotation: displayName},
		Version:           commandline.Version(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.ErrOut)
	root.SetUsageTemplate(usageTemplate)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w (%s --help tells how to use it)", err, c.CommandPath())
	})
	a.flags.AddFlags(root.PersistentFlags())
	root.AddGroup(
		&cobra.Group{ID: groupSee, Title: "See:"}, &cobra.Group{ID: groupMove, Title: "Change owners:"},
		&cobra.Group{ID: groupRecords, Title: "Records:"},
	)
	for _, sub := range []struct {
		group string
		make  func(*access) (*cobra.Command, error)
	}{
		{groupSee, newList}, {groupSee, newNodes}, {groupSee, newTop}, {groupSee, newStatus},
		{groupMove, newTransfer}, {groupMove, newCancel}, {groupMove, newDrain}, {groupMove, newUncordon},
		{groupRecords, newAppend}, {groupRecords, newRead},
		{"", newCompletion}, {"", newOptions},
	} {
		command, err := sub.make(a)
		if err != nil {
			return nil, err
		}
		command.GroupID = sub.group
		root.AddCommand(command)
	}
	return root, a.completeFlags(root)
}

const (
	groupSee     = "see"
	groupMove    = "move"
	groupRecords = "records"
)

// usageTemplate is cobra's without the flags that every command has, which would hide the command's own.
var usageTemplate = func() string {
	template := (&cobra.Command{}).UsageTemplate()
	template = strings.Replace(template, "{{if .HasAvailableLocalFlags}}", "{{if and .HasParent .HasAvailableLocalFlags}}", 1)
	from := strings.Index(template, "{{if .HasAvailableInheritedFlags}}")
	to := strings.Index(template, "{{if .HasHelpSubCommands}}")
	if from < 0 || to < from {
		return template
	}
	return strings.TrimSpace(template[:from]+template[to:]) + `

"` + displayName + ` options" lists the flags that every command has, such as -n and --context.
`
}()

func newOptions(*access) (*cobra.Command, error) {
	return &cobra.Command{
		Use: "options", Short: "List the flags that every command has", Args: noArguments, ValidArgsFunction: cobra.NoFileCompletions,
		Run: func(c *cobra.Command, _ []string) { c.Print(c.InheritedFlags().FlagUsages()) },
	}, nil
}

// completionScript is what kubectl runs to complete the plugin's arguments.
//
//go:embed kubectl_complete-stream
var completionScript string

func newCompletion(a *access) (*cobra.Command, error) {
	return &cobra.Command{
		Use: "completion", Short: "Print the script by which kubectl completes the arguments of this plugin",
		Long: `Print the script by which kubectl completes the arguments of this plugin. Kubectl, whose own completion must be set up, runs it
where it is in the PATH under the name kubectl_complete-stream.`,
		Example: `  kubectl stream completion > ~/.local/bin/kubectl_complete-stream
  chmod +x ~/.local/bin/kubectl_complete-stream`,
		Args: noArguments, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprint(a.Out, completionScript)
			return err
		},
	}, nil
}

// noArguments demands that there are no arguments.
func noArguments(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s takes no argument, and got %q: see %s --help", c.CommandPath(), args[0], c.CommandPath())
}

// exactly demands these arguments, by their names in the usage line.
func exactly(names ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		return fmt.Errorf("%s takes %d argument(s), %s, and got %d: see %s --help",
			c.CommandPath(), len(names), strings.Join(names, " "), len(args), c.CommandPath())
	}
}
