// The conformance runner puts Streamshift to the Durable Streams conformance suite and demands that every test of the base
// protocol passes: directly against a node, through the gateway, and through the gateway while the suite's streams are being
// transferred all the time.
//
//	go run ./test/conformance                            # all three, on a cluster of its own on this machine
//	go run ./test/conformance -standalone                # the protocol alone, without Kubernetes
//	go run ./test/conformance -url http://127.0.0.1:4437 # a server that runs already
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
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// options are the command line's.
type options struct {
	url        string
	standalone bool
	storeURL   string
	longPoll   time.Duration
	suite      string
	folder     string
	seed       uint64
	atOnce     int
	verbosity  int
}

func main() {
	o := options{}
	flag.StringVar(&o.url, "url", "", "base URL of a server that runs already; empty: start one")
	flag.BoolVar(&o.standalone, "standalone", false, "start the protocol alone in place of a cluster")
	flag.StringVar(&o.storeURL, "store", "mem://", "object store of -standalone")
	flag.DurationVar(&o.longPoll, "long-poll", 500*time.Millisecond, "how long the server's long-poll waits")
	flag.StringVar(&o.suite, "suite", "test/conformance", "folder of the suite's package.json")
	flag.StringVar(&o.folder, "folder", "", "folder for the cluster's data and logs, which stays; empty: a temporary one")
	flag.Uint64Var(&o.seed, "seed", rand.Uint64(), "seed of the choice of transfers") //nolint:gosec // printed, to be given again
	flag.IntVar(&o.atOnce, "at-once", 3, "how many transfers are under way at the same time")
	flag.IntVar(&o.verbosity, "verbosity", 0, "how much nodes and manager log, up to 2; see -folder")
	flag.Parse()
	log.SetLogger(logr.Discard()) // the clients' warnings
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, o options, out io.Writer) error {
	suite := suite{folder: o.suite, longPoll: o.longPoll}
	switch {
	case o.url != "":
		return demand(ctx, suite, out, "the server at "+o.url, o.url)
	case o.standalone:
		url, shutdown, err := startStandalone(ctx, o.storeURL, o.longPoll)
		if err != nil {
			return err
		}
		defer shutdown()
		return demand(ctx, suite, out, "the protocol alone", url)
	}
	return onCluster(ctx, o, suite, out)
}

// demand runs the suite, names the tests that failed, and returns an error unless every one passed.
func demand(ctx context.Context, suite suite, out io.Writer, what, url string) error {
	began := time.Now()
	counts, err := suite.run(ctx, url)
	if err != nil {
		return fmt.Errorf("testing %s: %w", what, err)
	}
	for _, failed := range counts.failures() {
		_, _ = fmt.Fprintf(out, "FAILED %s\n%s\n", failed.Name, strings.Join(failed.Messages, "\n"))
	}
	_, _ = fmt.Fprintf(out, "%s: %d of %d passed, %d failed, in %s\n",
		what, counts.Passed, demanded, counts.Failed, time.Since(began).Round(time.Second))
	if err := counts.check(); err != nil {
		return fmt.Errorf("testing %s: %w", what, err)
	}
	return nil
}
