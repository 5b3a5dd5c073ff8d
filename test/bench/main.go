// Command bench measures the window of a transfer, as clients see it, beside the floor that this machine sets in the same run: one
// status patch with its delivery to another client's watch, and two objects created in the store. It prints all of them and
// the ratio, and exits with 0 only if the ratio keeps to limits.json and nothing was lost, duplicated, reordered or failed.
//
// With -drain it measures how fast a node is emptied, beside what the API server's raw rate of status patches makes possible.
//
// Absolute figures move from machine to machine and from day to day. The ratio, of samples taken in turns, is what is judged.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// defaultTransfers is enough for a p99 that is not the maximum.
const defaultTransfers = 120

func main() {
	transfers := flag.Int("transfers", defaultTransfers, "how many transfers to measure")
	drained := flag.Int("drain", 0, "drain a node of so many streams instead, and measure that")
	profiles := flag.String("profiles", "", "a folder that processor profiles of all programs go to, taken during the first drain, which they slow down")
	limits := flag.String("limits", "test/bench/limits.json", "the file with the limits")
	flag.Parse()
	if err := run(context.Background(), *transfers, drain{streams: *drained, profiles: *profiles}, *limits); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, transfers int, drained drain, limitsFile string) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	log.SetLogger(logr.Discard()) // of the clients; what they meet comes back as errors
	limits, err := readLimits(limitsFile)
	if err != nil {
		return err
	}
	if drained.streams > 0 {
		results, err := measureDrains(ctx, drained, os.Stderr)
		for _, result := range results {
			if _, err := fmt.Fprint(os.Stdout, result.table()); err != nil {
				return fmt.Errorf("printing: %w", err)
			}
		}
		return errors.Join(append(judgeDrains(results, limits), err)...)
	}
	result, err := measure(ctx, transfers, os.Stderr)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(os.Stdout, result.table()); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return errors.Join(result.judge(limits)...)
}
