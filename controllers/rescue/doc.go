// Package rescue is the manager's reconciler of streams whose owner is alive and cannot open them: after a bound it asks
// for a transfer to another node, which goes the way of every transfer. A node that is gone is the drain's to empty.
package rescue
