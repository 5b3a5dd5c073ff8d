// Package streamname maps the names by which clients know streams to the names of Stream objects, and back. It is pure and imports
// the standard library only, so that programs may know names without knowing how streams are served.
package streamname
