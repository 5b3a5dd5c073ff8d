// Command server serves streams from an object store, without Kubernetes, until it is ended. It prints its URL as its only line
// on standard output. Beside the streams it has one page more, /stats: what it asked of the store so far.
package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof" //nolint:gosec // a test's server, on loopback
	"os"

	"github.com/go-logr/logr"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/engine/store"
	_ "github.com/streamshift/streamshift/internal/engine/store/cloud" // s3://, gs://, azblob://
	"github.com/streamshift/streamshift/internal/routing"
	"github.com/streamshift/streamshift/test/conformance/standalone"
)

func main() {
	storeURL := flag.String("store", "", "the object store's URL")
	listen := flag.String("listen", "127.0.0.1:0", "where to serve")
	epoch := flag.Int64("epoch", 1, "the epoch at which streams are opened; each start on the same store needs a higher one")
	cacheBytes := flag.Int("cache-bytes", 256<<20, "memory for records that were read or written lately, all streams together")
	checkpointSegments := flag.Int("checkpoint-segments", 0, "after how many segments of a stream they are merged; 0 for the default")
	flag.Parse()
	config := engine.Config{Epoch: engine.Epoch(*epoch), Cache: engine.NewCache(*cacheBytes)}
	config.Limits.CheckpointSegments = *checkpointSegments
	if err := serve(context.Background(), *storeURL, *listen, config); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, storeURL, listen string, config engine.Config) error {
	objects, err := store.Open(ctx, storeURL)
	if err != nil {
		return fmt.Errorf("opening the store: %w", err)
	}
	counted := &counting{Store: objects}
	streams, err := standalone.NewWith(counted, durablestreams.DefaultLimits(), standalone.Options{
		Epoch: config.Epoch, Identify: identify, Engine: config,
	}, logr.Discard())
	if err != nil {
		return fmt.Errorf("making the server: %w", err)
	}
	pages := http.NewServeMux()
	pages.Handle(standalone.Prefix, streams)
	pages.Handle("/debug/pprof/", http.DefaultServeMux)
	pages.HandleFunc("/stats", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(counted.stats()) // the client is gone
	})
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	if _, err := fmt.Fprintf(os.Stdout, "http://%s\n", listener.Addr()); err != nil {
		return fmt.Errorf("printing the URL: %w", err)
	}
	return routing.NewServer(pages).Serve(listener)
}

// identify gives the stream at a path the same identity in every process.
func identify(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:16])
}
