// Package standalone serves the Durable Streams protocol from one process: sessions of the engine by name, without
// Kubernetes, routing or transfers. It exists to test the protocol alone; streams of an earlier process are not found
// again.
package standalone
