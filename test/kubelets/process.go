//go:build linux

package kubelets

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/streamshift/streamshift/test/child"
)

// process is a program that runs until it is killed.
type process struct {
	name    string
	command *exec.Cmd
	ended   chan struct{} // closed once it has ended
}

// start starts a program on the machine with its output in a log, and records it, so that the next cluster can end it where this
// one cannot. It ends with this process.
func (f folder) start(m machine, name, path string, args ...string) (*process, error) {
	return f.startIn(m, name, &syscall.SysProcAttr{}, path, args...)
}

// startIn is start with namespaces of the program's own, beside the machine's network.
func (f folder) startIn(m machine, name string, attributes *syscall.SysProcAttr, path string, args ...string) (*process, error) {
	log, err := os.OpenFile(f.log(name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	defer func() { _ = log.Close() }() // the process has its own
	// It runs until it is killed, not until some context ends.
	p := &process{name: name, ended: make(chan struct{}), command: &exec.Cmd{
		Path: installed("nsenter"), Args: append([]string{"nsenter", "--net=" + m.namespacePath(), path}, args...),
		Stdout: log, Stderr: log, SysProcAttr: attributes,
	}}
	if err := spawn(p.command); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		_ = p.command.Wait() // how it ended is in its log
		close(p.ended)
	}()
	if err := f.record(p.command.Process.Pid); err != nil {
		return nil, errors.Join(err, p.kill())
	}
	return p, nil
}

// kill ends the process, and with a node's first process all others of the node.
func (p *process) kill() error {
	if err := p.command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing %s: %w", p.name, err)
	}
	<-p.ended
	return nil
}

// spawn starts the command in a session of its own, so that it ends with this process.
func spawn(command *exec.Cmd) error {
	command.SysProcAttr.Setsid = true
	return child.Start(command) //nolint:wrapcheck // the caller says what was started
}
