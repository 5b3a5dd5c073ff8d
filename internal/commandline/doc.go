// Package commandline checks what programs are started with, and says which version they are, where all of them want the same. It
// must not know any program, nor define a flag.
package commandline
