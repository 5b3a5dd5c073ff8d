package localcluster

import (
	"context"
	"fmt"
	"time"
)

const pollInterval = 25 * time.Millisecond

// poll asks until check returns nil. When the time is over, its error says what was awaited, for how long, and check's last reason.
func poll(ctx context.Context, what string, timeout time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		last := check(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting %v for %s: %w", time.Since(began).Round(time.Millisecond), what, last)
		case <-ticker.C:
		}
	}
}
