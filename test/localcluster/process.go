package localcluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
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
	// logTail is how much of a log an error message carries, in bytes.
	logTail = 2000
)

// errPortTaken tells a process that ended since another program took its port between our look and its start.
var errPortTaken = errors.New("port is taken")

// Process is one program of the cluster. It may be ended and started again any number of times under the same arguments; its
// log goes on in the same file. Methods may be called from several goroutines.
type Process struct {
	name    string
	path    string
	args    []string
	env     []string
	logPath string
	// readyURL answers 200 once the process is ready to serve.
	readyURL string
	// resignals is set for a program that cleans up on SIGTERM and then sends itself the signal again, as etcd does.
	resignals bool
	// addresses that others reach it by; see the Start functions of the components.
	addresses map[string]string

	mu  sync.Mutex
	run *run
}

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

// Start starts the process and waits until it is ready. A process that does not become ready is killed.
func (p *Process) Start(ctx context.Context) error {
	if err := p.launch(); err != nil {
		return err
	}
	if err := p.awaitReady(ctx); err != nil {
		return errors.Join(err, p.Kill())
	}
	return nil
}

// Stop asks the process to end (SIGTERM) and waits for it. One that does not end in time is killed, which is an error, as is an
// exit code other than 0.
func (p *Process) Stop() error {
	current := p.current()
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
	current := p.current()
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
	if p.Alive() {
		return fmt.Errorf("starting %s: it runs already", p.name)
	}
	log, err := os.OpenFile(p.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log of %s: %w", p.name, err)
	}
	defer func() { _ = log.Close() }()         // the child has its own
	command := exec.Command(p.path, p.args...) //nolint:gosec,noctx // our own programs; they outlive the caller's context
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
	p.mu.Lock()
	defer p.mu.Unlock()
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

// awaitReady waits until the process answers 200, has ended, or the time is over.
func (p *Process) awaitReady(ctx context.Context) error {
	client := http.Client{
		Timeout: probeTimeout,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the question carries nothing and its answer decides nothing
		},
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := p.Ended()
	go func() {
		select {
		case <-ended:
			cancel() // there is nothing to wait for any more
		case <-ctx.Done():
		}
	}()
	err := poll(ctx, p.name+" to be ready", startTimeout, func(ctx context.Context) error { return probe(ctx, &client, p.readyURL) })
	if err == nil {
		return nil
	}
	if !p.Alive() {
		err = fmt.Errorf("it ended: %w", p.endReason())
		if strings.Contains(p.tail(), "address already in use") {
			err = fmt.Errorf("%w: %w", errPortTaken, err)
		}
	}
	return fmt.Errorf("starting %s: %w\n%s", p.name, err, p.tail())
}

func (p *Process) endReason() error {
	if result := p.current().result; result != nil {
		return result
	}
	return errors.New("exit status 0")
}

func endedBySIGTERM(result error) bool {
	var exit *exec.ExitError
	if !errors.As(result, &exit) {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGTERM
}

func probe(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("asking %s: %w", url, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("asking: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, logTail))
	if err != nil {
		return fmt.Errorf("reading the answer of %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", url, response.Status, strings.TrimSpace(string(body)))
	}
	return nil
}

// tail is the end of the log, for error messages.
func (p *Process) tail() string {
	content, err := p.Log()
	if err != nil {
		return err.Error()
	}
	if len(content) > logTail {
		content = "..." + content[len(content)-logTail:]
	}
	return "the end of its log:\n" + content
}
