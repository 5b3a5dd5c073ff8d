package kubectlstream

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/streamshift/streamshift/streamclient"
)

func newAppend(a *access) (*cobra.Command, error) {
	var gateway gatewayFlags
	command := &cobra.Command{
		Use:   "append NAME [RECORD...]",
		Short: "Append records to a stream, from the arguments or from standard input",
		Long: `Append records to a stream, from the arguments or, where there are none, from standard input, as they come. Each is stored exactly
once and in order, whatever becomes of nodes and gateways meanwhile; where this command itself ends early, the last may be
missing.

Of a stream of JSON, an argument is one value, and standard input is values with white space between, such as one a line. Of any
other stream, an argument is a line, and standard input is taken byte for byte.

` + gatewayHelp,
		Example: `  kubectl stream append orders '{"order":1}' '{"order":2}'
  jq -c .items[] orders.json | kubectl stream append orders
  tail -f app.log | kubectl stream append logs --gateway http://localhost:4437`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%s takes the NAME of a stream, and records: see %s --help", c.CommandPath(), c.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: a.completeStreams,
	}
	gateway.bind(command)
	command.RunE = func(c *cobra.Command, args []string) error { return a.append(c.Context(), args[0], args[1:], gateway) }
	return command, nil
}

func (a *access) append(ctx context.Context, argument string, args []string, gateway gatewayFlags) (err error) {
	stream, info, err := a.records(ctx, argument, gateway)
	if err != nil {
		return err
	}
	var source recordSource
	if len(args) > 0 {
		if source, err = fromArguments(args, info.ContentType); err != nil {
			return err
		}
	} else {
		source = fromReader(a.In, info.ContentType)
	}
	producer := stream.Producer(streamclient.ProducerOptions{ID: "kubectl-stream-" + a.NewID(), ContentType: info.ContentType})
	defer func() {
		if closed := producer.Close(ctx); err == nil && closed != nil {
			err = fmt.Errorf("appending: %w", closed)
		}
	}()
	stored := 0
	for {
		records, err := source(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return afterSome(stored, info.ContentType, err)
		}
		if _, err := producer.SendAll(ctx, records...); err != nil {
			return afterSome(stored, info.ContentType, err)
		}
		stored += len(records)
	}
	fmt.Fprintf(a.ErrOut, "appended to stream/%s: %s\n", argument, counted(stored, info.ContentType))
	return nil
}

// afterSome tells what is stored although the rest is not.
func afterSome(stored int, contentType string, err error) error {
	switch {
	case stored == 0:
		return err
	case isJSON(contentType):
		return fmt.Errorf("%w (stored before that: %s)", err, counted(stored, contentType))
	}
	return fmt.Errorf("%w (a part of the input is stored)", err)
}
