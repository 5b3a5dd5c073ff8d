// Command gateway stands for a program of Streamshift: it needs the network, and knows the path that it was built at.
package main

import (
	"net"
	"os"
	"runtime"
)

func main() {
	_, file, _, _ := runtime.Caller(0)
	_, err := net.LookupHost("localhost")
	if err != nil {
		os.Exit(1)
	}
	_, _ = os.Stdout.WriteString(file)
}
