// Command crash ends processes by SIGKILL at every named point between two steps, in every role that passes it, under
// continuous appends, has them come back, and judges what became of every record. It prints the list of points with its
// count, and exits with 0 only if every case passed.
//
// Its test runs a handful of the cases.
package main
