package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/streamshift/streamshift/internal/crashpoint"
)

func main() {
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()),
		"what chooses nodes and passes")
	only := flag.String("only", "", "only cases whose name contains this")
	list := flag.Bool("list", false, "print the points, and end")
	flag.Parse()
	if *list {
		for _, point := range crashpoint.All() {
			fmt.Fprintln(os.Stdout, point)
		}
		fmt.Fprintf(os.Stdout, "%d points\n", len(crashpoint.All()))
		return
	}
	if err := run(context.Background(), os.Stdout, *seed, *only); err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, seed uint64, only string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	log.SetLogger(logr.Discard())            // of the clients; what they meet comes back as errors
	chance := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // repeatable on purpose
	all := cases(chance.IntN)
	fmt.Fprintf(out, "seed %d: %d points, %d cases\n", seed, len(crashpoint.All()), len(all))
	r, err := newRunner(ctx, os.Stderr)
	if err != nil {
		return err
	}
	defer func() { _ = r.bed.Stop() }()
	passed, failed := 0, 0
	for i, c := range all {
		if !strings.Contains(c.String(), only) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("running the cases: %w", err)
		}
		began := time.Now()
		outcome, err := r.run(ctx, i, c)
		switch {
		case err != nil:
			failed++
			fmt.Fprintf(out, "FAILED %s: %v\n", c, err)
		default:
			passed++
			fmt.Fprintf(out, "passed %s: %s, in %s\n", c, outcome, time.Since(began).Round(time.Millisecond))
		}
	}
	fmt.Fprintf(out, "seed %d: %d cases passed, %d failed\n", seed, passed, failed)
	if failed > 0 {
		return fmt.Errorf("%d cases failed", failed)
	}
	return nil
}
