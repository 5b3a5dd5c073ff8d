//go:build unix

// Command pause holds the namespaces of a pod, and does nothing else until it is asked to end.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGINT, syscall.SIGTERM)
	<-asked
}
