package routing

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseHint(t *testing.T) {
	tests := map[string]struct {
		epoch, role string
		want        Hint
	}{
		"owner":            {"7", "owner", Hint{Epoch: 7, Role: RoleOwner}},
		"target":           {"7", "target", Hint{Epoch: 7, Role: RoleTarget}},
		"none":             {"", "", Hint{}},
		"no role":          {"7", "", Hint{}},
		"an unknown role":  {"7", "king", Hint{}},
		"no number":        {"x", "owner", Hint{}},
		"epoch 0":          {"0", "owner", Hint{}},
		"a negative epoch": {"-1", "owner", Hint{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := http.Header{HeaderRouteEpoch: {tt.epoch}, HeaderRouteRole: {tt.role}}
			if got := ParseHint(h); got != tt.want {
				t.Errorf("ParseHint = %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestHintIsAheadOf(t *testing.T) {
	owned := Situation{Epoch: 7, Owner: "a"}
	byOther := Situation{Epoch: 7, Owner: "b"}
	inbound := Situation{Epoch: 7, Owner: "b", Pending: &Pending{Source: "b", Target: "a"}}
	tests := map[string]struct {
		hint Hint
		have Situation
		want bool
	}{
		"no hint":                           {Hint{}, owned, false},
		"an older epoch":                    {Hint{6, RoleOwner}, owned, false},
		"the same":                          {Hint{7, RoleOwner}, owned, false},
		"a later epoch":                     {Hint{8, RoleOwner}, owned, true},
		"owner, which the node denies":      {Hint{7, RoleOwner}, byOther, false},
		"target, which the node is":         {Hint{7, RoleTarget}, inbound, false},
		"target, which the node denies":     {Hint{7, RoleTarget}, byOther, true},
		"target, and the node owns it":      {Hint{7, RoleTarget}, owned, false},
		"target of an epoch that is over":   {Hint{6, RoleTarget}, byOther, false},
		"a hint where the node has no view": {Hint{1, RoleOwner}, Situation{}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.hint.aheadOf("a", tt.have); got != tt.want {
				t.Errorf("aheadOf = %t, want %t", got, tt.want)
			}
		})
	}
}

func TestMovedSurvivesTheHeaders(t *testing.T) {
	want := Moved{UID: "u", Epoch: 7, Node: "b", Role: RoleTarget, Address: "http://b", Transfer: "t"}
	h := http.Header{}
	location{node: want.Node, address: want.Address, role: want.Role, epoch: want.Epoch, uid: want.UID, transfer: want.Transfer}.setHeaders(h)
	got, ok := ParseMoved(h)
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("ParseMoved: ok %t, differs (-want +got):\n%s", ok, diff)
	}
	StripHeaders(h)
	if len(h) != 0 {
		t.Errorf("after stripping, %v is left", h)
	}
	if _, ok := ParseMoved(h); ok {
		t.Error("an answer without the headers says where the stream is")
	}
}

func TestParseHeld(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "730ms": 730 * time.Millisecond, "1m0.5s": 60500 * time.Millisecond, "-1s": 0, "7": 0, "x": 0} {
		if got := ParseHeld(http.Header{HeaderHeld: {text}}); got != want {
			t.Errorf("ParseHeld(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestParseHops(t *testing.T) {
	for text, want := range map[string]int{"": 0, "2": 2, "-1": 0, "x": 0} {
		if got := ParseHops(http.Header{HeaderHops: {text}}); got != want {
			t.Errorf("ParseHops(%q) = %d, want %d", text, got, want)
		}
	}
}
