//go:build crashpoints

package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"time"
)

// Faults is what a store is made to do wrong: the content of the file that the parameter faults of its URL names, looked
// at before each call. It exists in builds for tests only.
type Faults struct {
	// Slow is how long each call takes longer at most, in milliseconds.
	Slow int64 `json:"slow,omitempty"`
	// Fail is the share of calls that fail and do nothing.
	Fail float64 `json:"fail,omitempty"`
	// Applied is the share of creates that are carried out and answered with an error.
	Applied float64 `json:"applied,omitempty"`
	// Late is the share of creates that are answered with an error and carried out up to LateBy milliseconds later.
	Late   float64 `json:"late,omitempty"`
	LateBy int64   `json:"lateBy,omitempty"`
}

var errInjected = errors.New("injected fault")

// faulty does wrong what a file says.
type faulty struct {
	Store

	path string
}

func takeFaults(u *url.URL) (*url.URL, func(Store) Store) {
	path := u.Query().Get("faults")
	if path == "" {
		return u, nil
	}
	rest, parameters := *u, u.Query()
	parameters.Del("faults")
	rest.RawQuery = parameters.Encode()
	return &rest, func(s Store) Store { return &faulty{Store: s, path: path} }
}

func (f *faulty) faults() Faults {
	var now Faults
	if content, err := os.ReadFile(f.path); err == nil {
		_ = json.Unmarshal(content, &now) // half a file is no fault
	}
	return now
}

// suffer is what every call goes through first.
func (f *faulty) suffer(ctx context.Context, now Faults) error {
	if now.Slow > 0 {
		timer := time.NewTimer(time.Duration(rand.Int64N(now.Slow+1)) * time.Millisecond)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return fmt.Errorf("being slow: %w", ctx.Err())
		}
	}
	if rand.Float64() < now.Fail {
		return errInjected
	}
	return nil
}

// Create implements Store.
func (f *faulty) Create(ctx context.Context, key string, data []byte) error {
	now := f.faults()
	if err := f.suffer(ctx, now); err != nil {
		return err
	}
	switch roll := rand.Float64(); {
	case roll < now.Applied:
		if err := f.Store.Create(ctx, key, data); err != nil {
			return err
		}
		return errInjected
	case roll < now.Applied+now.Late:
		after := time.Duration(rand.Int64N(now.LateBy+1)) * time.Millisecond
		data := append([]byte(nil), data...)
		time.AfterFunc(after, func() { _ = f.Store.Create(context.WithoutCancel(ctx), key, data) })
		return errInjected
	}
	return f.Store.Create(ctx, key, data)
}

// Get implements Store.
func (f *faulty) Get(ctx context.Context, key string) ([]byte, error) {
	if err := f.suffer(ctx, f.faults()); err != nil {
		return nil, err
	}
	return f.Store.Get(ctx, key)
}

// GetRange implements Store.
func (f *faulty) GetRange(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	if err := f.suffer(ctx, f.faults()); err != nil {
		return nil, err
	}
	return f.Store.GetRange(ctx, key, offset, length)
}

// Delete implements Store.
func (f *faulty) Delete(ctx context.Context, key string) error {
	if err := f.suffer(ctx, f.faults()); err != nil {
		return err
	}
	return f.Store.Delete(ctx, key)
}
