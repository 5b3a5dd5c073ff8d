// Package mover transfers random streams between random nodes all the time, so that whatever runs beside it has its
// streams transferred under its hands.
package mover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/condition"
	"github.com/streamshift/streamshift/internal/handoff"
)

// Mover keeps transfers going.
type Mover struct {
	// Client of the cluster, with the right to make and delete transfers.
	Client client.Client
	// Namespace of the streams.
	Namespace string
	// Nodes to transfer between, at least two.
	Nodes []string
	// AtOnce is how many transfers are under way at the same time.
	AtOnce int
	// Newest bounds the choice to so many of the streams made last, which are likely in use; 0 for all of them.
	Newest int
	// Seed makes the choice of streams and nodes repeatable.
	Seed uint64

	made   atomic.Int64
	counts sync.Map // phase and reason -> *atomic.Int64
}

// transferTimeout bounds one transfer; one that takes longer is counted as stuck.
const transferTimeout = 30 * time.Second

// Run transfers until the context ends. It returns an error where a transfer got stuck.
func (m *Mover) Run(ctx context.Context) error {
	var workers sync.WaitGroup
	errs := make(chan error, m.AtOnce)
	for worker := range m.AtOnce {
		random := rand.New(rand.NewPCG(m.Seed, uint64(worker))) //nolint:gosec // repeatable on purpose
		workers.Go(func() {
			for ctx.Err() == nil {
				if err := m.transferOne(ctx, random); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	workers.Wait()
	close(errs)
	var all error
	for err := range errs {
		all = errors.Join(all, err)
	}
	return all
}

// Counts returns how the transfers ended, by phase and reason.
func (m *Mover) Counts() map[string]int64 {
	counts := map[string]int64{}
	m.counts.Range(func(key, value any) bool {
		counts[key.(string)] = value.(*atomic.Int64).Load() //nolint:forcetypeassert // stored below
		return true
	})
	return counts
}

func (m *Mover) count(outcome string) {
	counter, _ := m.counts.LoadOrStore(outcome, &atomic.Int64{})
	counter.(*atomic.Int64).Add(1) //nolint:forcetypeassert // stored here
}

// idlePause is how long to wait where there is no stream to transfer.
const idlePause = 20 * time.Millisecond

func (m *Mover) transferOne(ctx context.Context, random *rand.Rand) error {
	stream, err := m.pick(ctx, random)
	if err != nil || stream == nil {
		select {
		case <-time.After(idlePause):
		case <-ctx.Done():
		}
		return nil // an API server that is away is waited for
	}
	transfer := &v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: fmt.Sprintf("mover-%d-%d", m.Seed, m.made.Add(1))},
		Spec:       v1alpha1.StreamTransferSpec{Stream: stream.Name, Target: m.otherNode(random, stream.Status.Node)},
	}
	switch err := m.Client.Create(ctx, transfer); {
	case apierrors.IsForbidden(err):
		m.count("refused at admission")
		return nil
	case err != nil:
		return nil //nolint:nilerr // an API server that is away is waited for
	}
	ended, err := m.await(ctx, transfer)
	if err != nil {
		return err
	}
	if ended != nil {
		ready, _ := condition.Get(ended.Status.Conditions, v1alpha1.ConditionReady)
		m.count(string(ended.Status.Phase) + " " + ready.Reason)
		_ = m.Client.Delete(ctx, ended) // its outcome is counted; another mover's run has other names
	}
	return nil
}

// pick returns a random stream that has an owner; nil where there is none.
func (m *Mover) pick(ctx context.Context, random *rand.Rand) (*v1alpha1.Stream, error) {
	list := &v1alpha1.StreamList{}
	if err := m.Client.List(ctx, list, client.InNamespace(m.Namespace)); err != nil {
		return nil, fmt.Errorf("listing streams: %w", err)
	}
	owned := list.Items[:0]
	for _, stream := range list.Items {
		if stream.Status.Node != "" && stream.DeletionTimestamp.IsZero() {
			owned = append(owned, stream)
		}
	}
	if len(owned) == 0 {
		return nil, nil
	}
	if m.Newest > 0 && m.Newest < len(owned) {
		slices.SortFunc(owned, func(a, b v1alpha1.Stream) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
		owned = owned[:m.Newest]
	}
	return &owned[random.IntN(len(owned))], nil
}

// otherNode returns a random node that is not the owner.
func (m *Mover) otherNode(random *rand.Rand, owner string) string {
	others := slices.DeleteFunc(slices.Clone(m.Nodes), func(node string) bool { return node == owner })
	return others[random.IntN(len(others))]
}

// await watches the transfer until it has ended; nil where it is gone, or the context ends.
func (m *Mover) await(ctx context.Context, transfer *v1alpha1.StreamTransfer) (*v1alpha1.StreamTransfer, error) {
	deadline := time.NewTimer(transferTimeout)
	defer deadline.Stop()
	poll := time.NewTicker(idlePause)
	defer poll.Stop()
	for {
		current := &v1alpha1.StreamTransfer{}
		err := m.Client.Get(ctx, client.ObjectKeyFromObject(transfer), current)
		switch {
		case apierrors.IsNotFound(err):
			return nil, nil
		case err == nil && handoff.Terminal(current):
			return current, nil
		}
		select {
		case <-ctx.Done():
			return nil, nil
		case <-deadline.C:
			return nil, fmt.Errorf("transfer %s of stream %s to %s has not ended after %s: waiting for %q",
				transfer.Name, transfer.Spec.Stream, transfer.Spec.Target, transferTimeout, current.Status.WaitingFor)
		case <-poll.C:
		}
	}
}
