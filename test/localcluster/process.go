package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"
)

const (
	// startTimeout bounds how long a process may take until it says that it is ready; on a busy machine of 2 cores the API
	// server needs some 10 seconds.
	startTimeout = 90 * time.Second
	// stopTimeout bounds how long a process may take to end after SIGTERM before it is killed, which is an error.
	stopTimeout = 40 * time.Second
	// probeTimeout bounds one question to a health endpoint.
	probeTimeout = 2 * time.Second
	// restartPause is how long a process that ended by itself stays away, as a kubelet's first back-off.
	restartPause = time.Second
	// logTail is how much of a log an error message carries, in bytes.
	logTail = 2000
)

// errPortTaken tells a process that ended since another program took its port between our look and its start.
var errPortTaken = errors.New("port is taken")

// Process is one program of the cluster. It may be ended and started again any number of times under the same arguments; its
// log goes on in the same file. A component of Streamshift that ends by itself, such as a manager that has lost its leader's lock,
// is started again, as a kubelet would; one that Stop or Kill ended stays away. Methods may be called from several goroutines.
type Process struct {
	name    string
	path    string
	args    []string
	extra   []string // follow args in lives to come; see Reconfigure
	env     []string
	logPath string
	// readyURL answers 200 once the process is ready to serve.
	readyURL string
	// resignals is set for a program that cleans up on SIGTERM and then sends itself the signal again, as etcd does.
	resignals bool
	// keeper says who starts the process again when it ends by itself.
	keeper keeper
	// addresses that others reach it by; see the Start functions of the components.
	addresses map[string]string

	mu       sync.Mutex
	run      *run
	wanted   bool // it shall run: it has been ready, and neither Stop nor Kill has been called since
	restarts int
}

// keeper says who starts a process again that has ended by itself.
type keeper int

const (
	keptByNobody keeper = iota
	keptByCluster
)

// run is one life of a process.
type run struct {
	command *exec.Cmd
	ended   chan struct{} // closed once the process has ended and result is set
	result  error
}

// Name is unique within the cluster, such as "node-a".
func (p *Process) Name() string { return p.name }

// PID is the process id of the current life, 0 before the first.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.run == nil {
		return 0
	}
	return p.run.command.Process.Pid
}

// Alive says whether the process runs (a paused one does).
func (p *Process) Alive() bool {
	current := p.current()
	if current == nil {
		return false
	}
	select {
	case <-current.ended:
		return false
	default:
		return true
	}
}

// Ended is closed when the current life of the process has ended.
func (p *Process) Ended() <-chan struct{} {
	if current := p.current(); current != nil {
		return current.ended
	}
	ended := make(chan struct{})
	close(ended)
	return ended
}

// Restarts counts how often the process ended by itself and was started again.
func (p *Process) Restarts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.restarts
}

// Start starts the process and waits until it is ready. A process that does not become ready is killed.
func (p *Process) Start(ctx context.Context) error {
	if p.Alive() {
		return fmt.Errorf("starting %s: it runs already", p.name)
	}
	if err := p.launch(); err != nil {
		return err
	}
	if err := p.awaitReady(ctx); err != nil {
		return errors.Join(err, p.Kill())
	}
	switch p.keeper {
	case keptByNobody:
	case keptByCluster:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.wanted = true
		go p.keep(p.run)
	}
	return nil
}

// keep starts the process again whenever it ends, until it is not wanted any more.
func (p *Process) keep(life *run) {
	for {
		<-life.ended
		timer := time.NewTimer(restartPause)
		<-timer.C
		p.mu.Lock()
		if !p.wanted || p.run != life {
			p.mu.Unlock()
			return
		}
		p.restarts++
		if err := p.launchLocked(); err != nil {
			p.wanted = false
			p.mu.Unlock()
			return
		}
		life = p.run
		p.mu.Unlock()
	}
}

// expected tells whether the process runs or is about to be started again.
func (p *Process) expected() bool {
	p.mu.Lock()
	wanted := p.wanted
	p.mu.Unlock()
	return wanted || p.Alive()
}

// leave ends that the process is wanted, and returns its current life; nil where there is none to end.
func (p *Process) leave() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wanted = false
	return p.run
}

// Stop asks the process to end (SIGTERM) and waits for it. One that does not end in time is killed, which is an error, as is an
// exit code other than 0.
func (p *Process) Stop() error {
	current := p.leave()
	if current == nil || !p.Alive() {
		return nil
	}
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := p.signal(syscall.SIGCONT); err != nil { // a paused process would not see it
		return err
	}
	timer := time.NewTimer(stopTimeout)
	defer timer.Stop()
	select {
	case <-current.ended:
		if current.result == nil || p.resignals && endedBySIGTERM(current.result) {
			return nil
		}
		return fmt.Errorf("stopping %s: %w\n%s", p.name, current.result, p.tail())
	case <-timer.C:
		return errors.Join(fmt.Errorf("stopping %s: it has not ended %v after SIGTERM\n%s", p.name, stopTimeout, p.tail()), p.Kill())
	}
}

// Kill ends the process at once (SIGKILL) and waits until it has ended.
func (p *Process) Kill() error {
	current := p.leave()
	if current == nil {
		return nil
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-current.ended
	return nil
}

// Pause stops the process where it is (SIGSTOP): it runs no instruction until Resume, and its connections stay open.
func (p *Process) Pause() error { return p.signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

// Restart stops the process, where it runs, starts it again and waits until it is ready.
func (p *Process) Restart(ctx context.Context) error {
	if err := p.Stop(); err != nil {
		return err
	}
	return p.Start(ctx)
}

// Reconfigure restarts the process with more arguments; those of an earlier call are forgotten.
func (p *Process) Reconfigure(ctx context.Context, args ...string) error {
	if err := p.Stop(); err != nil {
		return err
	}
	p.mu.Lock()
	p.extra = args
	p.mu.Unlock()
	return p.Start(ctx)
}

// Log is everything that the process has written in all its lives.
func (p *Process) Log() (string, error) {
	content, err := os.ReadFile(p.logPath)
	if err != nil {
		return "", fmt.Errorf("reading the log of %s: %w", p.name, err)
	}
	return string(content), nil
}

func (p *Process) current() *run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.run
}

func (p *Process) launch() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.launchLocked()
}

// launchLocked begins a new life. The caller holds the lock.
func (p *Process) launchLocked() error {
	log, err := os.OpenFile(p.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log of %s: %w", p.name, err)
	}
	defer func() { _ = log.Close() }()                                 // the child has its own
	command := exec.Command(p.path, slices.Concat(p.args, p.extra)...) //nolint:gosec,noctx // our own programs; they outlive the caller's context
	command.Stdout, command.Stderr = log, log
	command.Env = append(os.Environ(), p.env...)
	if err := spawn(command); err != nil {
		return fmt.Errorf("starting %s: %w", p.name, err)
	}
	life := &run{command: command, ended: make(chan struct{})}
	go func() {
		life.result = command.Wait()
		close(life.ended)
	}()
	p.run = life
	return nil
}

// signal sends to a process that runs; one that has ended needs none.
func (p *Process) signal(signal os.Signal) error {
	current := p.current()
	if current == nil {
		return nil
	}
	if err := current.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending %v to %s: %w", signal, p.name, err)
	}
	return nil
}
