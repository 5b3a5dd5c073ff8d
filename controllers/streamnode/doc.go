// Package streamnode reconciles StreamNodes on the manager: whether a node is ready and schedulable, and how many of its
// slots are taken. The agent's own part of the status is written by controllers/registration.
package streamnode
