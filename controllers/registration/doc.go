// Package registration makes a node known and keeps it so: the agent registers its StreamNode, renews its Lease, and
// says whether it reaches the object store. Whether that makes the node ready is for the manager to judge.
package registration
