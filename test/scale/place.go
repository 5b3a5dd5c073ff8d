package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/streamshift/streamshift/test/solo"
)

// place is where servers of a check keep their objects.
type place struct {
	program  string
	storeURL string
	// folder holds the store's files.
	folder string
	env    []string
	args   []string
}

func (p place) start(ctx context.Context, epoch int64) (*solo.Server, error) {
	return solo.Start(ctx, solo.Options{Program: p.program, Store: p.storeURL, Epoch: epoch, Env: p.env, Args: p.args})
}

func (p place) forget() error {
	if err := forget(p.folder); err != nil {
		return fmt.Errorf("dropping the store from the machine's memory: %w", err)
	}
	return nil
}

// maxObjects is more than any check makes.
const maxObjects = 1 << 20

// objectCounts says how many objects of each kind there are.
type objectCounts struct{ segments, chunks, checkpoints int }

func (c objectCounts) all() int { return c.segments + c.chunks + c.checkpoints }

func (c objectCounts) String() string {
	return fmt.Sprintf("%d objects: %d segments, %d chunks, %d checkpoints", c.all(), c.segments, c.chunks, c.checkpoints)
}

func count(keys []string) objectCounts {
	var c objectCounts
	for _, key := range keys {
		switch {
		case strings.Contains(key, "/log/"):
			c.segments++
		case strings.Contains(key, "/chunk/"):
			c.chunks++
		case strings.Contains(key, "/checkpoint/"):
			c.checkpoints++
		}
	}
	return c
}
