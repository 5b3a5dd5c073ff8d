package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"github.com/streamshift/streamshift/internal/durablestreams"
	"github.com/streamshift/streamshift/internal/engine/store"
	"github.com/streamshift/streamshift/test/conformance/standalone"
)

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
