package routing

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

var orders = Stream{Namespace: "shop", Name: "orders"}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestTableNeverGoesBack(t *testing.T) {
	at := func(epoch int64, owner, target string) Route {
		return Route{UID: "u", Epoch: epoch, Owner: owner, Target: target}
	}
	moved := func(epoch int64, node string, role Role) Moved {
		return Moved{UID: "u", Epoch: epoch, Node: node, Role: role}
	}
	tests := map[string]struct {
		have        Route
		view        Route
		hint        Moved
		want        Route
		wantChanged bool
	}{
		"a view of a later epoch":                     {have: at(2, "a", ""), view: at(3, "b", ""), want: at(3, "b", ""), wantChanged: true},
		"a view of the same epoch":                    {have: at(2, "a", ""), view: at(2, "a", "b"), want: at(2, "a", "b"), wantChanged: true},
		"a view of the same epoch, withdrawn":         {have: at(2, "a", "b"), view: at(2, "a", ""), want: at(2, "a", ""), wantChanged: true},
		"a view of an older epoch":                    {have: at(2, "a", ""), view: at(1, "c", ""), want: at(2, "a", "")},
		"the same view again":                         {have: at(2, "a", ""), view: at(2, "a", ""), want: at(2, "a", "")},
		"a view of a new object under the name":       {have: at(9, "a", ""), view: Route{UID: "v", Epoch: 1, Owner: "b"}, want: Route{UID: "v", Epoch: 1, Owner: "b"}, wantChanged: true},
		"a hint that the stream is being transferred": {have: at(2, "a", ""), hint: moved(2, "b", RoleTarget), want: at(2, "a", "b"), wantChanged: true},
		"a hint that another node owns it":            {have: at(2, "a", "b"), hint: moved(3, "b", RoleOwner), want: at(3, "b", ""), wantChanged: true},
		"a hint that names the transfer": {
			have: at(2, "a", ""), hint: Moved{UID: "u", Epoch: 2, Node: "b", Role: RoleTarget, Transfer: "t"},
			want: Route{UID: "u", Epoch: 2, Owner: "a", Target: "b", Transfer: "t"}, wantChanged: true,
		},
		// It may have opened the stream long ago.
		"a hint that names the transfer that made it the owner": {
			have: at(2, "a", ""), hint: Moved{UID: "u", Epoch: 3, Node: "b", Role: RoleOwner, Transfer: "t"}, want: at(3, "b", ""), wantChanged: true,
		},
		"a hint of the same epoch that it did not move": {have: at(2, "a", "b"), hint: moved(2, "a", RoleOwner), want: at(2, "a", ""), wantChanged: true},
		"a hint of an older epoch":                      {have: at(2, "a", ""), hint: moved(1, "c", RoleOwner), want: at(2, "a", "")},
		"a hint about another object":                   {have: at(2, "a", ""), hint: Moved{UID: "v", Epoch: 9, Node: "c", Role: RoleOwner}, want: at(2, "a", "")},
		"a hint without a role":                         {have: at(2, "a", ""), hint: Moved{UID: "u", Epoch: 9, Node: "c"}, want: at(2, "a", "")},
		"a hint without a node":                         {have: at(2, "a", ""), hint: moved(3, "", RoleOwner), want: at(2, "a", "")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			table := NewTable()
			table.Apply(orders, tt.have)
			_, _, changed := table.Route(orders)
			if tt.hint != (Moved{}) {
				if got := table.Hint(orders, tt.hint); got != tt.wantChanged {
					t.Errorf("Hint says %t, want %t", got, tt.wantChanged)
				}
			} else {
				table.Apply(orders, tt.view)
			}
			got, known, _ := table.Route(orders)
			if diff := cmp.Diff(tt.want, got); !known || diff != "" {
				t.Errorf("the route differs, known %t (-want +got):\n%s", known, diff)
			}
			if got := isClosed(changed); got != tt.wantChanged {
				t.Errorf("those who wait are woken: %t, want %t", got, tt.wantChanged)
			}
		})
	}
}

func TestTableWakesWhoWaits(t *testing.T) {
	table := NewTable()
	_, known, arrival := table.Route(orders)
	if known {
		t.Fatal("an empty table knows a stream")
	}
	table.Hint(orders, Moved{UID: "u", Epoch: 1, Node: "a", Role: RoleOwner, Address: "http://a"})
	if streams, nodes := table.Len(); streams+nodes != 0 || isClosed(arrival) {
		t.Errorf("a hint about an unknown stream filled the table: %d streams, %d nodes", streams, nodes)
	}
	table.Apply(orders, Route{UID: "u", Epoch: 1, Owner: "a"})
	if !isClosed(arrival) {
		t.Error("a stream that becomes known wakes nobody")
	}
	_, _, changed := table.Route(orders)
	table.Remove(orders)
	if !isClosed(changed) {
		t.Error("a stream that is gone wakes nobody")
	}
	table.Remove(orders)

	_, nodesChanged := table.Address("a")
	table.SetNode("a", NodeState{Address: "http://a", Ready: true})
	if !isClosed(nodesChanged) {
		t.Error("a node that becomes known wakes nobody")
	}
	_, nodesChanged = table.Address("a")
	table.SetNode("a", NodeState{Address: "http://a", Ready: true})
	if isClosed(nodesChanged) {
		t.Error("a node that stays as it is wakes somebody")
	}
	table.RemoveNode("a")
	table.RemoveNode("a")
	if address, _ := table.Address("a"); address != "" || !isClosed(nodesChanged) {
		t.Errorf("after the node is gone its address is %q, woken %t", address, isClosed(nodesChanged))
	}
}

func TestTableRemembersTheAddressThatAHintGives(t *testing.T) {
	table := NewTable()
	table.Apply(orders, Route{UID: "u", Epoch: 1, Owner: "a"})
	hint := Moved{UID: "u", Epoch: 2, Node: "b", Role: RoleOwner, Address: "http://hinted"}
	table.Hint(orders, hint)
	if address, _ := table.Address("b"); address != "http://hinted" {
		t.Errorf("the address is %q, want the hinted one", address)
	}
	table.SetNode("b", NodeState{Address: "http://registered"})
	table.Hint(orders, hint)
	if address, _ := table.Address("b"); address != "http://registered" {
		t.Errorf("the address is %q: a hint replaced what the node registered", address)
	}
}

func TestRouteNode(t *testing.T) {
	tests := map[string]struct {
		route    Route
		wantNode string
		wantRole Role
	}{
		"not placed":              {Route{}, "", RoleOwner},
		"owned":                   {Route{Owner: "a"}, "a", RoleOwner},
		"being transferred":       {Route{Owner: "a", Target: "b"}, "b", RoleTarget},
		"a record to the owner":   {Route{Owner: "a", Target: "a"}, "a", RoleOwner},
		"a record without source": {Route{Target: "b"}, "", RoleOwner},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if node, role := tt.route.Node(); node != tt.wantNode || role != tt.wantRole {
				t.Errorf("Node() = %q, %q; want %q, %q", node, role, tt.wantNode, tt.wantRole)
			}
		})
	}
}
