package session

import (
	"testing"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/internal/handoff"
)

// TestRegisterSetBack: after a restore of etcd the API server has registers as they were, with the versions that they had. The
// watch delivers such a one as it delivers one that is behind an own write: once.
func TestRegisterSetBack(t *testing.T) {
	tests := map[string]struct {
		// caughtUp tells that the API server has what is known: the watch is only behind.
		caughtUp   bool
		wantNode   string
		wantAction handoff.Action
	}{
		"etcd was restored":   {wantNode: "a", wantAction: handoff.Reopen},
		"the watch is behind": {caughtUp: true, wantNode: "b", wantAction: handoff.Drop},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			backup := h.stream()
			h.accept()
			h.until("the stream is on node b", func() bool { return h.register().Node == "b" })
			if !tt.caughtUp {
				h.restore(backup)
			}
			h.node.host.see(backup, seenLive)
			look := func() *view {
				t.Helper()
				v, err := h.node.observe(t.Context(), h.key)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			v := look()
			if v.stream.Status.Node != "b" {
				t.Errorf("at once the older version is taken: %+v", v.stream.Status)
			}
			if again := lookAgainAfter(v, decide("a", v, h.clock()), h.clock()); again == 0 || again > setBackAfter {
				t.Errorf("it is looked at again after %s, want soon", again)
			}
			h.pass(setBackAfter)
			v = look()
			d := decide("a", v, h.clock())
			if v.stream.Status.Node != tt.wantNode || d.step.Action != tt.wantAction {
				t.Errorf("after a while the owner is %q and the action %s; want %q, %s", v.stream.Status.Node, d, tt.wantNode, tt.wantAction)
			}
			if v.setBack {
				t.Error("it is still looked at")
			}
		})
	}
}

// stream is the stream as the API server has it.
func (h *harness) stream() *v1alpha1.Stream {
	h.Helper()
	stream := &v1alpha1.Stream{}
	if err := h.server.Get(h.Context(), h.key, stream); err != nil {
		h.Fatal(err)
	}
	return stream
}

// restore has the API server answer with a version of the stream as it was.
func (h *harness) restore(backup *v1alpha1.Stream) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.restored = backup
}
