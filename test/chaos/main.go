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

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	o := options{}
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()),
		"what chooses faults, victims and lengths")
	flag.DurationVar(&o.duration, "duration", 2*time.Minute, "for how long")
	flag.IntVar(&o.streams, "streams", 6, "how many streams")
	flag.DurationVar(&o.pause, "pause", 20*time.Millisecond, "how long a writer rests between two records")
	flag.Parse()
	o.out = os.Stdout
	if err := run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

type options struct {
	seed     uint64
	duration time.Duration
	streams  int
	pause    time.Duration
	// out is told what is done and found.
	out io.Writer
}

var errViolated = errors.New("a promise was broken")

func run(ctx context.Context, o options) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	log.SetLogger(logr.Discard()) // of the clients; what they meet comes back as errors
	fmt.Fprintf(o.out, "chaos: seed %d, %s, %d streams\n", o.seed, o.duration, o.streams)
	s, err := begin(ctx, o)
	if err != nil {
		return err
	}
	if err := s.disturb(ctx); err != nil {
		return errors.Join(err, s.bed.Stop())
	}
	wrong := s.end(ctx)
	for _, line := range wrong {
		fmt.Fprintln(o.out, "VIOLATION:", line)
	}
	fmt.Fprint(o.out, s.tally.String())
	fmt.Fprintf(o.out, "chaos: seed %d, %s: %d violations\n", o.seed, o.duration, len(wrong))
	if len(wrong) > 0 {
		fmt.Fprintln(o.out, "chaos: the logs of every process are in", s.bed.Cluster.Folder(), "until this program ends; a copy is in", s.keepLogs())
		return errors.Join(errViolated, s.bed.Stop())
	}
	return s.bed.Stop()
}
