package main

import (
	"log"
	"strings"

	"github.com/go-logr/logr"
)

// libraryLogs turns what libraries print through the standard logger into log records: the HTTP server about connections that
// break, the S3 client about uploads that another session won.
type libraryLogs struct{ log logr.Logger }

// routeLibraryLogs has the standard logger write to log, instead of to standard error.
func routeLibraryLogs(to logr.Logger) {
	log.SetFlags(0)
	log.SetOutput(libraryLogs{to})
}

// Write implements io.Writer: the standard logger calls it once a line.
func (l libraryLogs) Write(line []byte) (int, error) {
	l.log.V(1).Info("A library says", "text", strings.TrimSpace(string(line)))
	return len(line), nil
}
