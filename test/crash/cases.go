package main

import (
	"fmt"
	"strings"

	"github.com/streamshift/streamshift/internal/crashpoint"
)

// role is what the process that ends is to the stream.
type role int

const (
	source role = iota
	target
	manager
)

// String implements fmt.Stringer.
func (r role) String() string {
	switch r {
	case source:
		return "source"
	case target:
		return "target"
	case manager:
		return "manager"
	}
	return fmt.Sprintf("role %d", int(r))
}

// deed is what makes a process pass a point.
type deed int

const (
	// transferring: a transfer to another node.
	transferring deed = iota
	// placing: another stream is made; stranding: one that no node may take.
	placing
	stranding
	// restarting: the owner is killed, and its next life reopens the stream.
	restarting
	// cancelling: a transfer whose source is paused is cancelled; takingOver: the source is paused until it is taken over.
	cancelling
	takingOver
	// failing: the target's object store refuses.
	failing
	// naming: the stream's spec names another node.
	naming
	// appending: nothing but many appends.
	appending
)

// crash is one case: a process in a role ends as it passes a point for the n-th time since it was armed.
type crash struct {
	point crashpoint.Point
	role  role
	deed  deed
	n     int
}

func (c crash) String() string { return fmt.Sprintf("%s of the %s, pass %d", c.point, c.role, c.n) }

// deedFor names what makes the manager or a node write a step.
var deedFor = map[string]struct {
	deed deed
	role role
}{
	"Place":      {placing, manager},
	"Unplaced":   {stranding, manager},
	"Accept":     {transferring, manager},
	"Opened":     {transferring, target},
	"CannotOpen": {failing, target},
	"Complete":   {transferring, source},
	"Reopen":     {restarting, source},
	"Withdraw":   {cancelling, manager},
	"TakeOver":   {takingOver, manager},
	"Note":       {naming, manager},
}

// cases are every point in every role that passes it. Chance, 0 or more, chooses the pass where there are many.
func cases(chance func(n int) int) []crash {
	var all []crash
	for _, point := range crashpoint.All() {
		all = append(all, casesOf(point, chance)...)
	}
	return all
}

func casesOf(point crashpoint.Point, chance func(n int) int) []crash {
	parts := strings.Split(string(point), ".")
	switch {
	case parts[0] == "register":
		of := deedFor[parts[1]]
		return []crash{{point, of.role, of.deed, 1}}
	case point == crashpoint.TransferCreatedBefore, point == crashpoint.TransferCreatedAfter:
		return []crash{{point, manager, naming, 1}}
	case parts[0] == "transfer":
		return []crash{{point, manager, transferring, 1}}
	case point == crashpoint.CloseBegins, point == crashpoint.CloseReturned, strings.Contains(string(point), "create-closing"):
		return []crash{{point, source, transferring, 1}}
	case parts[0] == "session", strings.Contains(string(point), "create-opening"):
		return []crash{{point, target, transferring, 1}, {point, source, restarting, 1}}
	case strings.Contains(string(point), "store.get"):
		return []crash{{point, target, transferring, 1}, {point, source, restarting, 1 + chance(2)}}
	case strings.Contains(string(point), "chunk"), strings.Contains(string(point), "checkpoint"), strings.Contains(string(point), "delete"):
		return []crash{{point, source, appending, 1}}
	}
	// file.* and store.create-entries: among the appends of the source, and among the opening and first appends of the target
	return []crash{{point, source, appending, 1 + chance(20)}, {point, target, transferring, 1 + chance(3)}}
}
