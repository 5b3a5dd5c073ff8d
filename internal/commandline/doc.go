// Package commandline checks what programs are started with, where all of them want the same. It must not know any program, nor
// define a flag.
package commandline
