// Command chaos does to a cluster what a bad month does, in minutes: processes are killed and paused, the API server and
// etcd stand still, object stores are slow, fail, or apply a write late and answer it with an error, nodes are cut off from
// the API server or from clients; and users transfer, cancel and drain all the while. What the clients of every stream did
// and saw is recorded and judged. It prints its seed, what it did, and every violation, and exits with 0 only if there is
// none and every transfer ended without a person.
//
// Clocks do not jump: every process is on one machine and reads its clock.
package main
