package main

import (
	"context"
	"sync/atomic"

	"github.com/streamshift/streamshift/internal/engine/store"
	"github.com/streamshift/streamshift/test/solo"
)

// counting is a store that counts what it is asked for.
type counting struct {
	store.Store
	creates, created, gets, got, deletes atomic.Int64
}

func (c *counting) stats() solo.Stats {
	return solo.Stats{
		Creates: c.creates.Load(), CreatedBytes: c.created.Load(),
		Gets: c.gets.Load(), GotBytes: c.got.Load(), Deletes: c.deletes.Load(),
	}
}

func (c *counting) Create(ctx context.Context, key string, data []byte) error {
	c.creates.Add(1)
	c.created.Add(int64(len(data)))
	return c.Store.Create(ctx, key, data)
}

func (c *counting) Get(ctx context.Context, key string) ([]byte, error) {
	data, err := c.Store.Get(ctx, key)
	c.gets.Add(1)
	c.got.Add(int64(len(data)))
	return data, err
}

func (c *counting) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	data, err := c.Store.GetRange(ctx, key, offset, length)
	c.gets.Add(1)
	c.got.Add(int64(len(data)))
	return data, err
}

func (c *counting) Delete(ctx context.Context, key string) error {
	c.deletes.Add(1)
	return c.Store.Delete(ctx, key)
}
