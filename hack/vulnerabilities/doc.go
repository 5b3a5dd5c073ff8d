// Command vulnerabilities looks for known vulnerabilities in the code that is shipped: functions that the linker kept in its
// programs, by govulncheck.
//
// The list of what is known is the Go project's own, as the module golang.org/x/vulndb, whose newest version is downloaded like
// any other module: it is deliberately not pinned, and nothing but the module proxy must be reachable. Where it is not, nothing is
// scanned, and the reason is printed.
//
// A vulnerability of a module fails. One of the standard library is told, with the release of Go that mends it: which Go builds
// the programs is decided where they are built, not in this repository.
package main
