package localcluster

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// spawn starts the command so that the kernel kills it when this process ends in whatever way, and in a process group of its
// own, so that a Ctrl-C in the terminal reaches this process first, which then ends them in order.
//
// The kernel sends the parent's death signal when the *thread* that started the child ends. So every child is started by one
// thread, which is locked to a goroutine that never returns.
func spawn(command *exec.Cmd) error {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	spawner() <- func() { started <- command.Start() }
	return <-started
}

var spawner = sync.OnceValue(func() chan<- func() {
	starts := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range starts {
			start()
		}
	}()
	return starts
})
