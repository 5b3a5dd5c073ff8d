package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

const (
	// addressFor is for how long a node's address is taken for true without asking.
	addressFor = 5 * time.Second
	// addressTimeout is how long a request waits for the API server to tell an address. Beyond it the one that was told
	// last is good enough: who is not there any more is found out by whoever goes there.
	addressTimeout = time.Second
	// addressesAtMost bounds how many nodes' addresses are remembered.
	addressesAtMost = 4096
)

// addresses remembers where other nodes are reached.
type addresses struct {
	live client.Reader
	now  func() time.Time

	mu      sync.Mutex
	known   map[string]address
	looking map[string]bool
}

type address struct {
	url   string
	until time.Time
}

func newAddresses(live client.Reader, now func() time.Time) *addresses {
	return &addresses{live: live, now: now, known: map[string]address{}, looking: map[string]bool{}}
}

// of returns the base URL of a node.
func (a *addresses) of(ctx context.Context, node string) (string, error) {
	a.mu.Lock()
	last, found := a.known[node]
	a.mu.Unlock()
	if found && a.now().Before(last.until) {
		return last.url, nil
	}
	url, err := a.ask(ctx, node)
	if err != nil && found {
		return last.url, nil
	}
	return url, err
}

func (a *addresses) ask(ctx context.Context, node string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, addressTimeout)
	defer cancel()
	object := &v1alpha1.StreamNode{}
	if err := a.live.Get(ctx, client.ObjectKey{Name: node}, object); err != nil {
		return "", fmt.Errorf("reading node %s: %w", node, err)
	}
	if object.Status.Address == "" {
		return "", fmt.Errorf("node %s has no address", node)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, found := a.known[node]; !found && len(a.known) >= addressesAtMost {
		clear(a.known)
	}
	a.known[node] = address{url: object.Status.Address, until: a.now().Add(addressFor)}
	return object.Status.Address, nil
}

// prepare asks for a node's address in the background, where it is not known: while the API server is away it could not
// be asked for.
func (a *addresses) prepare(ctx context.Context, node string) {
	a.mu.Lock()
	_, found := a.known[node]
	needed := !found && !a.looking[node]
	if needed {
		a.looking[node] = true
	}
	a.mu.Unlock()
	if !needed {
		return
	}
	go func() {
		_, _ = a.ask(context.WithoutCancel(ctx), node) // who needs it asks again
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.looking, node)
	}()
}
