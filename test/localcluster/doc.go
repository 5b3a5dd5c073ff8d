// Package localcluster is the one way to start Streamshift on this machine: a real etcd, a real kube-apiserver, and the
// manager, nodes and gateway as processes of their own. Tests, demo, playground and benchmarks all stand on it.
//
// What must hold:
//
//   - Everything listens on 127.0.0.1 only, on ports that this cluster holds for as long as it lives.
//   - Every component acts under its own service account and its own role, as it would in a real cluster.
//   - Everything started ends with Stop, after a failed start, and (on Linux) with this process, however it ends.
//   - Nothing waits by sleeping: each wait polls a condition, is bounded, and fails with the last reason and the log's tail.
//
// There is no controller-manager, scheduler or kubelet: no owner reference is collected, no namespace is deleted, no pod runs.
// Nodes are objects that CreateNode writes.
//
// The package must not know what a transfer is: it starts and stops things.
package localcluster
