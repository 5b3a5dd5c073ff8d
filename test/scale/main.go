package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/streamshift/streamshift/test/s3server"
	"github.com/streamshift/streamshift/test/solo"
)

type options struct {
	run     string
	mib     int64
	records int
	crowd   crowd
}

func main() {
	var o options
	flag.StringVar(&o.run, "run", "bulk,records,clients", "what to try")
	flag.Int64Var(&o.mib, "mib", 1024, "how much goes into one stream, in MiB")
	flag.IntVar(&o.records, "records", 1_000_000, "how many small records go into one stream")
	flag.IntVar(&o.crowd.readers, "readers", 5000, "how many event streams are open at once")
	flag.IntVar(&o.crowd.slow, "slow", 500, "how many clients read, or write, slowly at once")
	flag.Int64Var(&o.crowd.flood, "flood-mib", 64, "how much is appended beside readers who do not read, in MiB")
	flag.Parse()
	log.SetLogger(logr.Discard()) // the clients' warnings
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) (err error) {
	folder, err := os.MkdirTemp("", "scale")
	if err != nil {
		return fmt.Errorf("making a folder for the data: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	program, err := solo.Build(ctx, folder)
	if err != nil {
		return err
	}
	var errs []error
	for _, part := range []struct {
		name string
		try  func() error
	}{
		{"bulk", func() error { return tryBulk(ctx, o, program, folder, out) }},
		{"records", func() error {
			data := filepath.Join(folder, "records")
			return tryRecords(ctx, place{program: program, storeURL: "file://" + data, folder: data}, o.records, out)
		}},
		{"clients", func() error { return onCluster(ctx, o.crowd, out) }},
	} {
		if slices.Contains(strings.Split(o.run, ","), part.name) {
			errs = append(errs, part.try())
		}
	}
	return errors.Join(errs...)
}

func tryBulk(ctx context.Context, o options, program, folder string, out io.Writer) error {
	data := filepath.Join(folder, "bulk-file")
	onFiles := place{program: program, storeURL: "file://" + data, folder: data}
	s3Program, err := s3server.Build(ctx, ".")
	if err != nil {
		return err
	}
	data = filepath.Join(folder, "bulk-s3")
	s3, err := s3server.Start(ctx, s3Program, data)
	if err != nil {
		return err
	}
	defer s3.Stop()
	for _, variable := range s3server.Env() {
		name, value, _ := strings.Cut(variable, "=")
		if err := os.Setenv(name, value); err != nil {
			return fmt.Errorf("setting the credentials: %w", err)
		}
	}
	onS3 := place{program: program, storeURL: s3server.StoreURL(s3.Address), folder: data, env: s3server.Env()}
	var errs []error
	for _, p := range []place{onFiles, onS3} {
		result, err := bulk(ctx, p, o.mib<<20)
		if err != nil {
			return fmt.Errorf("filling a stream: %w", err)
		}
		scheme, _, _ := strings.Cut(p.storeURL, ":")
		if _, err := fmt.Fprintf(out, "%s: %s\n", scheme, result); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
		errs = append(errs, result.judge())
	}
	return errors.Join(errs...)
}
