// Command appendbench measures appends: how many a second, how long each takes, and how many objects they cost, for 1, 16 and
// 256 writers on 1 and on 64 streams, on the file store and on a real S3 server, beside the protocol's reference server
// in the same run.
//
// All of them answer an append when it is synced to the disk: Streamshift when the object and its name are (two fsyncs; S3: when
// the S3 server has answered, which syncs nothing), the reference when its file is (one fdatasync that concurrent appends
// share). Each server is a process of its own and is asked directly over HTTP/1.1. They are measured in turns, several rounds each, so
// that what else the machine does hits all of them.
//
// Every byte is read back afterwards. It exits with 0 only if nothing acknowledged by Streamshift is missing and its throughput on
// files keeps to limits.json.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

type options struct {
	rounds     int
	duration   time.Duration
	recordSize int
	limits     string
	only       string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 2, "how often each measurement is repeated; its median counts")
	flag.DurationVar(&o.duration, "duration", 2*time.Second, "how long one measurement takes")
	flag.IntVar(&o.recordSize, "record-size", 1024, "bytes of one append")
	flag.StringVar(&o.limits, "limits", "test/appendbench/limits.json", "the file with the limits")
	flag.StringVar(&o.only, "only", "", "measure one system only: file, s3 or reference; then nothing is judged")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "appendbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	limits, err := readLimits(o.limits)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "appendbench")
	if err != nil {
		return fmt.Errorf("making a folder for the data: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	systems, stop, err := startSystems(ctx, folder, o.only)
	if err != nil {
		return err
	}
	defer stop()
	var all results
	for _, load := range loads {
		for range o.rounds {
			for _, s := range systems {
				m, err := measure(ctx, s, load, o)
				if err != nil {
					return fmt.Errorf("measuring %s, %s: %w", s.name, load, err)
				}
				all.add(s.name, load, m)
			}
		}
		if _, err := fmt.Fprint(out, all.rows(load, systems)); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
	}
	if o.only != "" {
		return nil
	}
	return errors.Join(all.judge(limits)...)
}
