package routing

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/streamshift/streamshift/internal/durablestreams"
)

// TestDecide goes through every combination of who owns the stream, which transfer is pending and whether a session is
// open, as node a sees it.
func TestDecide(t *testing.T) {
	const me = "a"
	serve, park := Disposition{Act: Serve}, Disposition{Act: Park}
	redirect := func(node string) Disposition { return Disposition{Act: Redirect, Node: node} }
	conflict := func(node string) Disposition { return Disposition{Act: Conflict, Node: node} }
	tests := map[string]struct {
		owner, target string
		wantClosed    Disposition
		wantOpen      Disposition
	}{
		"not placed": {"", "", park, park},
		"not placed, and a record that means none": {"", "b", park, park},
		"owner":            {"a", "", park, serve},
		"owner and source": {"a", "b", conflict("b"), conflict("b")},
		"owner, and a record that leads to itself":  {"a", "a", park, serve},
		"another owns it":                           {"b", "", redirect("b"), redirect("b")},
		"target":                                    {"b", "a", park, park},
		"neither owner nor target":                  {"b", "c", conflict("c"), conflict("c")},
		"another owns it, the record leads to it":   {"b", "b", redirect("b"), redirect("b")},
		"not placed, and a record that leads to me": {"", "a", park, park},
	}
	for name, tt := range tests {
		for open, want := range map[bool]Disposition{false: tt.wantClosed, true: tt.wantOpen} {
			t.Run(fmt.Sprintf("%s, open %t", name, open), func(t *testing.T) {
				s := Situation{UID: "u", Epoch: 7, Owner: tt.owner}
				if tt.target != "" {
					s.Pending = &Pending{UID: "t", Source: tt.owner, Target: tt.target}
				}
				if open {
					s.Log = struct{ durablestreams.Log }{}
				}
				got := Decide(me, s)
				if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Disposition{}, "Reason")); diff != "" {
					t.Errorf("Decide differs (-want +got):\n%s", diff)
				}
				if got.Reason == "" {
					t.Error("the decision has no reason")
				}
			})
		}
	}
}
