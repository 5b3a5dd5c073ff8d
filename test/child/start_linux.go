package child

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// Start starts the command so that the kernel kills it when this process ends.
//
// The kernel sends the parent's death signal when the *thread* that started the child ends. So every child is started by one
// thread, which is locked to a goroutine that never returns.
func Start(command *exec.Cmd) error {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Pdeathsig = syscall.SIGKILL
	started := make(chan error)
	starter() <- func() { started <- command.Start() }
	return <-started
}

var starter = sync.OnceValue(func() chan<- func() {
	starts := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
	return starts
})
