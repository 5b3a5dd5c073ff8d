package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/engine"
	"github.com/streamshift/streamshift/internal/engine/store"
	"github.com/streamshift/streamshift/internal/handoff"
	"github.com/streamshift/streamshift/internal/routing"
)

// harness is one node's reconciler over a made-up API server, which can be away, and a real engine in memory.
type harness struct {
	*testing.T

	node   *Reconciler
	server client.WithWatch
	store  store.Store
	key    types.NamespacedName

	mu   sync.Mutex
	now  time.Time
	away bool
	// restored is what is answered to questions for the stream; nil: what the server has.
	restored *v1alpha1.Stream
}

var errAway = errors.New("the API server is away")

// newHarness has node "a" hold an open stream.
func newHarness(t *testing.T) *harness {
	t.Helper()
	h := &harness{T: t, key: types.NamespacedName{Namespace: "default", Name: "orders"}, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	stream := &v1alpha1.Stream{
		ObjectMeta: metav1.ObjectMeta{Namespace: h.key.Namespace, Name: h.key.Name, UID: "uid-1"},
		Status:     v1alpha1.StreamStatus{Node: "a", Epoch: 1, State: v1alpha1.StreamOpening},
	}
	h.server = fake.NewClientBuilder().WithScheme(scheme).WithObjects(stream).WithStatusSubresource(&v1alpha1.Stream{}).Build()
	asked := interceptor.NewClient(h.server, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if h.isAway() {
				return errAway
			}
			if answer := h.answer(); answer != nil {
				answer.DeepCopyInto(object.(*v1alpha1.Stream))
				return nil
			}
			return c.Get(ctx, key, object, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			if h.isAway() {
				return errAway
			}
			return c.SubResource(sub).Patch(ctx, object, patch, options...)
		},
	})
	var err error
	if h.store, err = store.Open(t.Context(), "mem://"); err != nil {
		t.Fatal(err)
	}
	storage := &StoreEngine{Store: h.store, Config: engine.Config{Limits: engine.Limits{RetryAfter: time.Millisecond}}}
	storage.probed.Store(true)
	ids := 0
	h.node = &Reconciler{
		Node: "a", Owned: h.server, Inbound: h.server, Live: asked, Client: asked, Engine: storage, Now: h.clock, Log: logr.Discard(),
		NewID: func() string { ids++; return fmt.Sprintf("session-%d", ids) },
	}
	h.node.host = newHost("a", asked, h.clock)
	t.Cleanup(func() { h.node.host.forget(h.key) })
	h.see()
	h.until("the stream is open", func() bool { return h.register().State == v1alpha1.StreamOpen && h.situation().Log != nil })
	return h
}

func (h *harness) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *harness) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func (h *harness) isAway() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.away
}

func (h *harness) answer() *v1alpha1.Stream {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.restored
}

func (h *harness) setAway(away bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.away = away
}

// see has the watch deliver the register as it is.
func (h *harness) see() {
	h.Helper()
	stream := &v1alpha1.Stream{}
	if err := h.server.Get(h.Context(), h.key, stream); err != nil {
		h.Fatal(err)
	}
	h.node.host.see(stream, seenLive)
}

func (h *harness) register() *v1alpha1.StreamStatus {
	h.Helper()
	stream := &v1alpha1.Stream{}
	if err := h.server.Get(h.Context(), h.key, stream); err != nil {
		h.Fatal(err)
	}
	return &stream.Status
}

// change writes the register as somebody else would.
func (h *harness) change(change func(*v1alpha1.StreamStatus)) {
	h.Helper()
	stream := &v1alpha1.Stream{}
	if err := h.server.Get(h.Context(), h.key, stream); err != nil {
		h.Fatal(err)
	}
	change(&stream.Status)
	if err := h.server.Status().Update(h.Context(), stream); err != nil {
		h.Fatal(err)
	}
}

// accept makes a transfer to node "b" the pending one, and has the node see it.
func (h *harness) accept() {
	h.change(func(s *v1alpha1.StreamStatus) {
		s.PendingTransfer = &v1alpha1.PendingTransfer{Name: "t", UID: "t-1", Source: "a", Target: "b", AcceptedAt: metav1.NewMicroTime(h.clock())}
	})
	h.see()
}

func (h *harness) situation() routing.Situation {
	s, _, _ := h.node.host.situation(routing.Stream{Namespace: h.key.Namespace, Name: h.key.Name})
	return s
}

func (h *harness) phase() handoff.SessionPhase {
	return h.node.host.view(h.key, h.clock()).session.Phase
}

// until reconciles until something holds.
func (h *harness) until(what string, holds func() bool) {
	h.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		_, err := h.node.Reconcile(h.Context(), ctrl.Request{NamespacedName: h.key})
		if holds() {
			return
		}
		select {
		case <-deadline.C:
			h.Fatalf("waiting until %s: session is %s, register %+v, last error %v", what, h.phase(), h.register(), err)
		case <-tick.C:
		}
	}
}

func (h *harness) append(record string) error {
	log := h.situation().Log
	if log == nil {
		return errors.New("no session takes appends")
	}
	_, err := log.Append(h.Context(), engine.Append{Messages: [][]byte{[]byte(record)}})
	return err
}
