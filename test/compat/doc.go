// Package compat keeps streams that earlier versions wrote, and tests that they are still read. A folder of testdata is a
// file store; it is written once, by the version whose format it shows, and never again: a new format adds a folder.
//
// It must use the engine only as its users do.
package compat
