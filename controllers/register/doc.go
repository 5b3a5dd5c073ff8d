// Package register carries the steps of the handoff to the API server, which is their arbiter, and remembers what it
// answered until the watch has caught up. It decides nothing.
package register
