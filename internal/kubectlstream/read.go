package kubectlstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/streamshift/streamshift/streamclient"
)

// readOptions are the flags of read.
type readOptions struct {
	gateway  gatewayFlags
	offset   string
	follow   bool
	showNext bool
}

func newRead(a *access) (*cobra.Command, error) {
	o := &readOptions{}
	command := &cobra.Command{
		Use:   "read NAME",
		Short: "Print what a stream holds",
		Long: `Print what a stream holds, from its beginning or another offset to its present end. A stream of JSON is printed as one value a
line, any other byte for byte. Offsets are opaque: use what --show-next printed, -1 for the beginning, or now for the end.

` + gatewayHelp,
		Example: `  kubectl stream read orders
  kubectl stream read orders --offset now --follow   # only what is appended from now on
  kubectl stream read orders --show-next             # tells where to go on later`,
		Args:              exactly("NAME"),
		ValidArgsFunction: a.completeStreams,
	}
	o.gateway.bind(command)
	f := command.Flags()
	f.StringVar(&o.offset, "offset", string(streamclient.Beginning), "Where to begin: an offset, -1 for the beginning, or now for the end.")
	f.BoolVarP(&o.follow, "follow", "f", false, "Go on with what is appended, until Ctrl-C or the stream is closed.")
	f.BoolVar(&o.showNext, "show-next", false, "Print, on standard error, the offset behind what was read.")
	command.RunE = func(c *cobra.Command, args []string) error { return a.read(c.Context(), args[0], o) }
	return command, completeFlag(command, "offset", cobra.FixedCompletions([]cobra.Completion{"-1", "now"}, cobra.ShellCompDirectiveNoFileComp))
}

func (a *access) read(ctx context.Context, argument string, o *readOptions) error {
	stream, info, err := a.records(ctx, argument, o.gateway)
	if err != nil {
		return err
	}
	next := streamclient.Offset(o.offset)
	show := func(chunk streamclient.Chunk) error {
		next = chunk.Next
		return writeChunk(a.Out, chunk.Data, info.ContentType)
	}
	if o.follow {
		err = followRecords(ctx, stream, next, show)
	} else {
		err = readRecords(ctx, stream, next, show)
	}
	if o.showNext {
		fmt.Fprintf(a.ErrOut, "next offset: %s\n", next)
	}
	return err
}

// readRecords shows everything up to the present end.
func readRecords(ctx context.Context, stream *streamclient.Stream, from streamclient.Offset, show func(streamclient.Chunk) error) error {
	for {
		chunk, err := stream.Read(ctx, from)
		if err != nil {
			return err
		}
		if err := show(chunk); err != nil {
			return err
		}
		if chunk.UpToDate || chunk.Closed {
			return nil
		}
		from = chunk.Next
	}
}

// followRecords shows everything until ctx ends, which is no error, or the stream is closed.
func followRecords(ctx context.Context, stream *streamclient.Stream, from streamclient.Offset, show func(streamclient.Chunk) error) error {
	for chunk, err := range stream.Follow(ctx, from, streamclient.LongPoll) {
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := show(chunk); err != nil {
			return err
		}
	}
	return nil
}

// writeChunk prints a piece of a stream: of JSON, which comes as an array of whole values, one value a line.
func writeChunk(out io.Writer, data []byte, contentType string) error {
	if isJSON(contentType) && len(data) > 0 {
		var records []json.RawMessage
		if err := json.Unmarshal(data, &records); err != nil {
			return fmt.Errorf("reading the gateway's answer as JSON: %w", err)
		}
		lines := &bytes.Buffer{}
		for _, record := range records {
			if err := json.Compact(lines, record); err != nil {
				return fmt.Errorf("reading a value as JSON: %w", err)
			}
			lines.WriteByte('\n')
		}
		data = lines.Bytes()
	}
	if _, err := out.Write(data); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}
