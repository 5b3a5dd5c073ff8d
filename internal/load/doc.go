// Package load averages what streams do, and says when a change of it is worth telling. It is pure: samples and their times
// are handed in.
//
// Averages are over minutes, since load that comes and goes within one is no reason to transfer a stream. A report names the
// streams with the most load and sums up the others, so that it stays small however many streams a node holds.
package load
