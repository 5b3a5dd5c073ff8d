// Command streamlog looks into the objects of a stream without opening it: verify checks them, dump prints the messages.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/streamshift/streamshift/internal/commandline"
	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/engine/store"
	_ "github.com/streamshift/streamshift/internal/engine/store/cloud" // s3://, gs://, azblob://
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(os.Stdout).ExecuteContext(ctx)
	stop()
	if err != nil {
		os.Exit(1) // cobra has printed it
	}
}

func command(out io.Writer) *cobra.Command {
	var address string
	root := &cobra.Command{
		Use:   "streamlog",
		Short: "Look into the objects of a stream without opening it",
		Long: "Look into the objects of a stream without opening it, while it is served, too.\n\n" +
			"STREAM is what the store knows the stream by, the UID of its Stream object:\n" +
			"kubectl get stream NAME -o jsonpath='{.metadata.uid}'. Credentials come from the environment, as for the agents.",
		Example: "  streamlog verify --store 's3://my-bucket?region=eu-central-1' c8bee783-95c0-48d8-a184-b4d19fb58d56\n" +
			"  streamlog dump --store file:///var/lib/streamshift c8bee783-95c0-48d8-a184-b4d19fb58d56 | head",
		Version:       commandline.Version(),
		SilenceUsage:  true,
		SilenceErrors: false,
	}
	root.PersistentFlags().StringVar(&address, "store", "",
		"the object store, by the same URL as the agents', prefix and all: file:///folder, s3://bucket, gs://bucket or azblob://container")
	if err := root.MarkPersistentFlagRequired("store"); err != nil {
		panic(err) // the flag is defined above
	}
	inspect := func(cmd *cobra.Command, stream string, visit func(engine.Offset, []byte) error) (engine.Report, error) {
		if err := checkFolder(address); err != nil {
			return engine.Report{}, err
		}
		s, err := store.Open(cmd.Context(), address)
		if err != nil {
			return engine.Report{}, err
		}
		return engine.Inspect(cmd.Context(), s, stream, visit)
	}
	root.AddCommand(&cobra.Command{
		Use: "verify STREAM", Args: cobra.ExactArgs(1), Short: "Check every object that the stream consists of; print what was found as JSON",
		RunE: func(cmd *cobra.Command, args []string) error {
			report, err := inspect(cmd, args[0], nil)
			if err != nil {
				return err
			}
			return json.NewEncoder(out).Encode(report)
		},
	}, &cobra.Command{
		Use: "dump STREAM", Args: cobra.ExactArgs(1), Short: "Print each message with its position, as a quoted string a line",
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := inspect(cmd, args[0], func(at engine.Offset, m []byte) error {
				_, err := fmt.Fprintf(out, "%d %q\n", at, m)
				return err
			})
			return err
		},
	})
	return root
}

// checkFolder refuses a store of files that is not there: opening it would make it.
func checkFolder(address string) error {
	u, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("reading --store: %w", err)
	}
	if u.Scheme != "file" {
		return nil
	}
	if _, err := os.Stat(u.Path); err != nil {
		return fmt.Errorf("looking for the folder of --store: %w", err)
	}
	return nil
}
