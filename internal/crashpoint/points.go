package crashpoint

import (
	"slices"
)

// Point is a place between two steps.
type Point string

// Points of the agent: it opens a session, releases what waits for it, and closes it.
const (
	OpenBegins   Point = "session.open.begins"
	OpenReturned Point = "session.open.returned"
	// Released: requests that waited have been told that the session is open.
	Released      Point = "session.released"
	CloseBegins   Point = "session.close.begins"
	CloseReturned Point = "session.close.returned"
)

// Points of the file store: inside one creation.
const (
	FileWritten Point = "file.written"
	FileSynced  Point = "file.synced"
	FileLinked  Point = "file.linked"
)

// Points of the manager: it reads a transfer afresh, writes what it decided, and makes transfers of its own.
const (
	TransferReadAfresh    Point = "transfer.read-afresh"
	TransferStatusBefore  Point = "transfer.status.before"
	TransferStatusAfter   Point = "transfer.status.after"
	TransferCreatedBefore Point = "transfer.created.before"
	TransferCreatedAfter  Point = "transfer.created.after"
)

// Steps are the names of the register's steps, each of which has a point before and one after its write.
var Steps = []string{"Place", "Unplaced", "Accept", "Opened", "CannotOpen", "Complete", "Reopen", "Withdraw", "TakeOver", "Note"}

// Objects are the kinds of objects that the engine creates, each of which has a point before and one after.
var Objects = []string{"opening", "entries", "closing", "chunk", "checkpoint"}

// BeforeStep and AfterStep are the points around the write of a step on the register.
func BeforeStep(step string) Point { return Point("register." + step + ".before") }

// AfterStep is the point after the write of a step: its answer is there and nobody has acted on it.
func AfterStep(step string) Point { return Point("register." + step + ".after") }

// BeforeCall and AfterCall are the points around a call of the object store: create-entries, get, delete and so on.
func BeforeCall(call string) Point { return Point("store." + call + ".before") }

// AfterCall is the point after a call of the object store: its answer is there and nobody has acted on it.
func AfterCall(call string) Point { return Point("store." + call + ".after") }

// All returns every point, in order.
func All() []Point {
	all := []Point{
		OpenBegins, OpenReturned, Released, CloseBegins, CloseReturned,
		FileWritten, FileSynced, FileLinked,
		TransferReadAfresh, TransferStatusBefore, TransferStatusAfter, TransferCreatedBefore, TransferCreatedAfter,
	}
	for _, step := range Steps {
		all = append(all, BeforeStep(step), AfterStep(step))
	}
	calls := []string{"get", "delete"}
	for _, object := range Objects {
		calls = append(calls, "create-"+object)
	}
	for _, call := range calls {
		all = append(all, BeforeCall(call), AfterCall(call))
	}
	slices.Sort(all)
	return all
}

// FolderVariable is the environment variable that names the folder of the files that arm points.
const FolderVariable = "STREAMSHIFT_CRASHPOINTS"
