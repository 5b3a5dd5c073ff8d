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

// TestDecideWhileATransferCannotBeCommitted: the register is out of the source's reach.
func TestDecideWhileATransferCannotBeCommitted(t *testing.T) {
	open := struct{ durablestreams.Log }{}
	from := func(source, target string, change func(*Situation)) Situation {
		s := Situation{UID: "u", Epoch: 7, Owner: source, Pending: &Pending{UID: "t", Source: source, Target: target}}
		change(&s)
		return s
	}
	for name, tt := range map[string]struct {
		situation Situation
		want      Disposition
	}{
		"a source that is cut off and open again serves": {
			from("a", "b", func(s *Situation) { s.CutOff, s.Log = true, open }), Disposition{Act: Serve}},
		"one that is cut off and still closed sends on": {
			from("a", "b", func(s *Situation) { s.CutOff = true }), Disposition{Act: Conflict, Node: "b"}},
		"a target that has waited for long sends back to the source": {
			from("b", "a", func(s *Situation) { s.Overdue = true }), Disposition{Act: Redirect, Node: "b"}},
		"a target that is cut off serves nothing": {
			from("b", "a", func(s *Situation) { s.CutOff, s.Log = true, open }), Disposition{Act: Park}},
		"another node sends to the target": {
			from("b", "c", func(s *Situation) { s.CutOff, s.Overdue = true, true }), Disposition{Act: Conflict, Node: "c"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Decide("a", tt.situation)
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreFields(Disposition{}, "Reason")); diff != "" || got.Reason == "" {
				t.Errorf("Decide differs (-want +got), reason %q:\n%s", got.Reason, diff)
			}
		})
	}
}
