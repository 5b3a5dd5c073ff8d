//go:build !linux

package localcluster

import "os/exec"

// spawn starts the command in this process's own group, so that a Ctrl-C in the terminal ends both. Only Linux can also end it
// when this process is killed outright.
func spawn(command *exec.Cmd) error { return command.Start() }
