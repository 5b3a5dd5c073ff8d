// The conformance runner puts a server to the Durable Streams conformance suite and demands that every test of the base
// protocol passes. Without a URL it starts a standalone server of its own.
//
//	go run ./test/conformance                            # the protocol alone
//	go run ./test/conformance -url http://127.0.0.1:4437 # a node or a gateway
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/engine/store"
	"github.com/streamshift/streamshift/test/conformance/standalone"
)

func main() {
	url := flag.String("url", "", "base URL of the server to test; empty: start a standalone one")
	storeURL := flag.String("store", "mem://", "object store of the standalone server")
	longPoll := flag.Duration("long-poll", 500*time.Millisecond, "how long the server's long-poll waits")
	folder := flag.String("folder", "test/conformance", "folder of the suite's package.json")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *url, *storeURL, *folder, *longPoll); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func run(ctx context.Context, url, storeURL, folder string, longPoll time.Duration) error {
	if url == "" {
		started, shutdown, err := startStandalone(ctx, storeURL, longPoll)
		if err != nil {
			return err
		}
		defer shutdown()
		url = started
	}
	suite := suite{folder: folder, url: url, longPoll: longPoll}
	counts, err := suite.run(ctx)
	if err != nil {
		return err
	}
	for _, failed := range counts.failures() {
		_, _ = fmt.Fprintf(os.Stdout, "FAILED %s\n%s\n", failed.Name, strings.Join(failed.Messages, "\n"))
	}
	_, _ = fmt.Fprintf(os.Stdout, "%s: %d passed, %d failed of %d demanded\n", url, counts.Passed, counts.Failed, demanded)
	return counts.check()
}

// startStandalone starts a server on loopback and returns its URL.
func startStandalone(ctx context.Context, storeURL string, longPoll time.Duration) (url string, shutdown func(), err error) {
	objects, err := store.Open(ctx, storeURL)
	if err != nil {
		return "", nil, fmt.Errorf("opening the store: %w", err)
	}
	limits := durablestreams.DefaultLimits()
	limits.LongPoll = longPoll
	handler, err := standalone.New(objects, limits, logr.Discard())
	if err != nil {
		return "", nil, fmt.Errorf("making the server: %w", err)
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listening: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // returns when it is closed
	return "http://" + listener.Addr().String(), func() { _ = server.Close() }, nil
}
