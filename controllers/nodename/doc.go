// Package nodename has streams go to the node that their spec names, where that is not their owner, and says on the stream
// what they wait for. It makes transfers; whether one holds is decided where every transfer is.
//
// It must not touch streams that are where they are wanted, or that are wanted nowhere: those stay.
package nodename
