package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// registers looks at the registers all the time and finds what must never be: an epoch that goes back, or an owner that
// changes at one epoch.
type registers struct {
	mu    sync.Mutex
	last  map[string]v1alpha1.StreamStatus
	looks int
	wrong []string
	done  chan struct{}
	stop  context.CancelFunc
}

// lookEvery is how often the registers are looked at.
const lookEvery = 50 * time.Millisecond

func watchRegisters(ctx context.Context, c client.Client) *registers {
	ctx, stop := context.WithCancel(ctx)
	r := &registers{last: map[string]v1alpha1.StreamStatus{}, done: make(chan struct{}), stop: stop}
	go func() {
		defer close(r.done)
		for rest(ctx, lookEvery) {
			call, done := context.WithTimeout(ctx, callTimeout)
			list := &v1alpha1.StreamList{}
			if err := c.List(call, list, client.InNamespace(namespace)); err == nil {
				r.look(list.Items)
			}
			done()
		}
	}()
	return r
}

func (r *registers) look(streams []v1alpha1.Stream) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.looks++
	for i := range streams {
		name, now := streams[i].Name, streams[i].Status
		before := r.last[name]
		switch {
		case now.Epoch < before.Epoch:
			r.wrong = append(r.wrong, fmt.Sprintf("epoch went back: the register of %s went from %d to %d", name, before.Epoch, now.Epoch))
		case now.Epoch == before.Epoch && now.Node != before.Node && before.Node != "":
			r.wrong = append(r.wrong, fmt.Sprintf("two owners: the register of %s names %s and %s at epoch %d", name, before.Node, now.Node, now.Epoch))
		}
		r.last[name] = now
	}
}

// owner is the node that owned a stream when it was seen last.
func (r *registers) owner(stream string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last[stream].Node
}

// end stops looking and returns what was found.
func (r *registers) end() (looks int, wrong []string) {
	r.stop()
	<-r.done
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.looks, r.wrong
}
