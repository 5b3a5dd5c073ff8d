// Package history records what clients of one stream did and saw, and judges it: every append and every read with its
// times. A linear scan finds what is lost, stored twice, reordered, made up, or read differently from what is stored; a
// checker of linearizability finds whether some order explains all answers.
//
// A record is a line of fixed length that names its writer and the writer's own count, so that a record's place in the
// stream is its offset divided by that length.
//
// The package must not know how the stream is served, nor what was done to its servers.
package history
