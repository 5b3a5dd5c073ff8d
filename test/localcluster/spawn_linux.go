package localcluster

import (
	"os/exec"
	"syscall"

	"github.com/streamshift/streamshift/test/child"
)

// spawn starts the command so that it ends with this process, and in a process group of its own, so that a Ctrl-C in the terminal
// reaches this process first, which then ends them in order.
func spawn(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return child.Start(command) //nolint:wrapcheck // the caller says what was started
}
