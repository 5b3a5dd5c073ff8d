package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	// maxLineBytes bounds a line of a client's output: what one read gives.
	maxLineBytes = 16 << 20
	// progressTimeout bounds how long a reader may see nothing new: above the gateway's park time.
	progressTimeout = 60 * time.Second
	// finishTimeout bounds how long a client may take to end after it was told to stop.
	finishTimeout = 60 * time.Second
)

// record is what clients append.
type record struct {
	Writer string `json:"writer"`
	Number int    `json:"number"`
}

// account is what a client has told.
type account struct {
	// wrote counts the acknowledged records of each writer that has stopped.
	wrote map[string]int
	// read holds what each reader got, in order.
	read map[string][]record
	// faults are what went wrong, a sentence each.
	faults []string
}

// rider is a client that runs.
type rider struct {
	program program
	process *exec.Cmd
	input   io.Closer
	// ended is closed once the process has ended and everything that it printed was taken in.
	ended chan struct{}

	mu      sync.Mutex
	account account
	// moved is closed, and replaced, with every line.
	moved chan struct{}
}

// start runs the client on a stream. It ends with the context.
func start(ctx context.Context, p program, url string) (*rider, error) {
	command := exec.CommandContext(ctx, p.command[0], append(p.command[1:len(p.command):len(p.command)], url)...) //nolint:gosec // our own
	command.Dir = p.folder
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a client of several processes ends as one
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	input, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", p.name, err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("connecting to %s: %w", p.name, err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", p.name, err)
	}
	r := &rider{
		program: p, process: command, input: input, ended: make(chan struct{}), moved: make(chan struct{}),
		account: account{wrote: map[string]int{}, read: map[string][]record{}},
	}
	go r.listen(output)
	return r, nil
}

// listen takes in what the client prints, until it ends.
func (r *rider) listen(output io.Reader) {
	defer close(r.ended)
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, maxLineBytes)
	for lines.Scan() {
		r.take(lines.Bytes())
	}
	err := lines.Err()
	if err != nil {
		_, _ = io.Copy(io.Discard, output) // or the client would never end
	}
	if err := errors.Join(err, r.process.Wait()); err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.account.faults = append(r.account.faults, "the client ended: "+err.Error())
	}
}

func (r *rider) take(line []byte) {
	var event struct {
		Event, By, Text string
		Count           int
		Records         []record
	}
	err := json.Unmarshal(line, &event)
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now().Format(time.TimeOnly + ".000")
	switch {
	case err != nil:
		r.account.faults = append(r.account.faults, fmt.Sprintf("%s a line that is no event: %.200s", now, line))
	case event.Event == "read":
		r.account.read[event.By] = append(r.account.read[event.By], event.Records...)
	case event.Event == "wrote":
		r.account.wrote[event.By] += event.Count
	default:
		r.account.faults = append(r.account.faults, fmt.Sprintf("%s %s: %s", now, event.By, event.Text))
	}
	close(r.moved)
	r.moved = make(chan struct{})
}

// told returns what the client has told so far. Nobody changes it afterwards: it only grows.
func (r *rider) told() (account, <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	told := account{wrote: maps.Clone(r.account.wrote), read: maps.Clone(r.account.read), faults: r.account.faults}
	return told, r.moved
}

// awaitProgress waits until every reader has got a record more of every writer, so that writers and readers are all at work.
func (r *rider) awaitProgress(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, progressTimeout)
	defer cancel()
	before, moved := r.told()
	for now := before; ; now, moved = r.told() {
		lagging := r.program.lagging(before, now)
		if lagging == "" {
			return nil
		}
		select {
		case <-moved:
		case <-r.ended:
			return fmt.Errorf("waiting for %s: the client has ended; its faults: %q", lagging, now.faults)
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; faults of the client: %q", lagging, ctx.Err(), now.faults)
		}
	}
}

// lagging names a reader that has got nothing of a writer between two moments; empty where there is none.
func (p program) lagging(before, now account) string {
	for _, reader := range p.readers {
		for _, writer := range p.writers {
			if !wroteOf(now.read[reader][len(before.read[reader]):], writer) {
				return fmt.Sprintf("%s to read a record of %s", reader, writer)
			}
		}
	}
	return ""
}

func wroteOf(records []record, writer string) bool {
	for _, record := range records {
		if record.Writer == writer {
			return true
		}
	}
	return false
}

// finish has the writers stop, waits for the client's end and returns all that it told.
func (r *rider) finish(ctx context.Context) (account, error) {
	ctx, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	if err := r.input.Close(); err != nil {
		return account{}, fmt.Errorf("telling %s to stop: %w", r.program.name, err)
	}
	select {
	case <-r.ended:
		told, _ := r.told()
		return told, nil
	case <-ctx.Done():
		told, _ := r.told()
		return told, fmt.Errorf("waiting for %s to end: %w; its faults: %q", r.program.name, ctx.Err(), told.faults)
	}
}
