package solo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Build builds the server into a folder and returns the program's path.
func Build(ctx context.Context, folder string) (string, error) {
	program := filepath.Join(folder, "solo-server")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "github.com/streamshift/streamshift/test/solo/server") //nolint:gosec // of this module
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the server: %w\n%s", err, output)
	}
	return program, nil
}

// Options say what a server is started with.
type Options struct {
	// Program is what Build returned.
	Program string
	// Store is the object store's URL.
	Store string
	// Epoch is the one at which streams are opened; it has to be above that of every server before on the same store.
	Epoch int64
	// Args are added to the command line.
	Args []string
	// Env is added to the environment.
	Env []string
}

// Server is one process.
type Server struct {
	// URL is the server's base URL.
	URL     string
	command *exec.Cmd
	errors  bytes.Buffer
}

// startTimeout bounds how long a server may take until it listens.
const startTimeout = 30 * time.Second

// Start starts a server and waits until it listens. It ends with Kill, or with ctx.
func Start(ctx context.Context, o Options) (*Server, error) {
	args := append([]string{"-store", o.Store, "-epoch", strconv.FormatInt(o.Epoch, 10)}, o.Args...)
	return start(exec.CommandContext(ctx, o.Program, args...), o.Env) //nolint:gosec // what Build built
}

// StartCommand starts another server that prints its base URL as a line on standard output, among others maybe.
func StartCommand(command *exec.Cmd) (*Server, error) { return start(command, nil) }

func start(command *exec.Cmd, env []string) (*Server, error) {
	s := &Server{command: command}
	command.Env = append(os.Environ(), env...)
	command.Stderr = &s.errors
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting the server: %w", err)
	}
	line := make(chan string, 1)
	go func() {
		defer close(line)
		for lines := bufio.NewScanner(output); lines.Scan(); { // to the end: a full pipe would stop the server
			if strings.HasPrefix(lines.Text(), "http://") {
				line <- lines.Text()
			}
		}
	}()
	timer := time.NewTimer(startTimeout)
	defer timer.Stop()
	select {
	case s.URL = <-line:
	case <-timer.C:
	}
	if !strings.HasPrefix(s.URL, "http://") {
		s.Kill()
		return nil, fmt.Errorf("starting the server: it does not print its URL: %s", s.errors.String())
	}
	return s, nil
}

// PID is the process id.
func (s *Server) PID() int { return s.command.Process.Pid }

// Kill ends the process at once, as kill -9 does, and waits until it has ended.
func (s *Server) Kill() {
	_ = s.command.Process.Kill() // it has ended already
	_ = s.command.Wait()         // by the line above
}

// Stats is what a server has asked of its store.
type Stats struct {
	Creates      int64 `json:"creates"`
	CreatedBytes int64 `json:"createdBytes"`
	Gets         int64 `json:"gets"`
	GotBytes     int64 `json:"gotBytes"`
	Deletes      int64 `json:"deletes"`
}

// Stats asks the server what it has asked of its store so far.
func (s *Server) Stats(ctx context.Context) (Stats, error) {
	var stats Stats
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/stats", http.NoBody)
	if err != nil {
		return stats, fmt.Errorf("asking for the server's counts: %w", err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return stats, fmt.Errorf("asking for the server's counts: %w", err)
	}
	err = json.NewDecoder(response.Body).Decode(&stats)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return stats, fmt.Errorf("asking for the server's counts: %w", err)
	}
	return stats, nil
}

// Memory is what a process holds, in bytes.
type Memory struct {
	// Now is what is resident now, Peak the most that was since the start or the last ResetPeak.
	Now, Peak int64
}

// Memory reads the process's memory from the kernel. It is an error where the kernel is no Linux.
func (s *Server) Memory() (Memory, error) { return MemoryOf(s.PID()) }

// MemoryOf reads a process's memory from the kernel.
func MemoryOf(pid int) (Memory, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, fmt.Errorf("reading a process's memory: %w", err)
	}
	var m Memory
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		kilobytes, _ := strconv.ParseInt(fields[1], 10, 64) // not a number in other lines
		switch fields[0] {
		case "VmRSS:":
			m.Now = kilobytes << 10
		case "VmHWM:":
			m.Peak = kilobytes << 10
		}
	}
	if m.Peak == 0 {
		return Memory{}, errors.New("reading a process's memory: the kernel does not tell")
	}
	return m, nil
}

// ResetPeak has the kernel count a process's Peak from now on.
func ResetPeak(pid int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0o600); err != nil {
		return fmt.Errorf("resetting the peak of a process's memory: %w", err)
	}
	return nil
}
