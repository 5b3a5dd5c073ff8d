// Package gitops tests how Streamshift's kinds behave under what applies them from Git: kubectl, Flux's server-side-apply
// manager, the kstatus library and Argo CD's health scripts, against a real API server and real processes. It is a module of
// its own: what it is tested with is much, and the project's own modules need none of it.
package gitops
