package localcluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A test of processes runs this test's own program again, which then plays the part that roleVariable names.
const (
	roleVariable    = "LOCALCLUSTER_TEST_ROLE"
	addressVariable = "LOCALCLUSTER_TEST_ADDRESS"
	roleServer      = "server"
	roleParent      = "parent"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case roleServer:
		serve(os.Getenv(addressVariable))
	case roleParent:
		startServerAndHang()
	default:
		os.Exit(m.Run())
	}
}

// serve answers 200 until it is terminated.
func serve(address string) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, "Serving")
	server := http.Server{
		ReadHeaderTimeout: time.Second,
		Handler:           http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}),
	}
	fmt.Fprintln(os.Stderr, server.Serve(listener))
}

// startServerAndHang starts a server as a Process, prints its process id, and waits to be killed.
func startServerAndHang() {
	process := serverProcess(os.Getenv("LOCALCLUSTER_TEST_FOLDER"), os.Getenv(addressVariable))
	if err := process.launch(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, process.PID())
	select {}
}

func serverProcess(folder, address string) *Process {
	return &Process{
		name:      "server",
		path:      os.Args[0],
		env:       []string{roleVariable + "=" + roleServer, addressVariable + "=" + address},
		logPath:   filepath.Join(folder, "server.log"),
		readyURL:  "http://" + address,
		resignals: true,
	}
}

// newServer returns a server that does not run yet and is killed at the end of the test.
func newServer(t *testing.T) *Process {
	t.Helper()
	var held ports
	address, err := held.takeAddress()
	if err != nil {
		t.Fatal(err)
	}
	process := serverProcess(t.TempDir(), address)
	t.Cleanup(func() {
		held.release()
		if err := process.Kill(); err != nil {
			t.Error(err)
		}
	})
	return process
}

func TestProcessLives(t *testing.T) {
	process := newServer(t)
	if process.Alive() {
		t.Error("a process that was not started is alive")
	}
	if err := process.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := process.PID()
	if !process.Alive() || first == 0 {
		t.Errorf("a started process: alive %v, process id %d", process.Alive(), first)
	}
	if err := process.Start(t.Context()); err == nil {
		t.Error("a second start of a running process gave no error")
	}
	if err := process.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := process.Restart(t.Context()); err != nil {
		t.Fatalf("restarting a paused process: %v", err)
	}
	if process.PID() == first {
		t.Error("a restarted process has its old process id")
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	if process.Alive() {
		t.Error("a killed process is alive")
	}
	if err := process.Stop(); err != nil {
		t.Errorf("stopping a process that has ended: %v", err)
	}
	log, err := process.Log()
	if err != nil {
		t.Fatal(err)
	}
	if lives := strings.Count(log, "Serving"); lives != 2 {
		t.Errorf("the log tells of %d lives, want 2:\n%s", lives, log)
	}
}

func TestAComponentThatEndsByItselfIsStartedAgain(t *testing.T) {
	process := newServer(t)
	process.keeper = keptByCluster
	if err := process.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := process.PID()
	if err := syscall.Kill(first, syscall.SIGKILL); err != nil { // not by Kill: as if it had crashed
		t.Fatal(err)
	}
	err := poll(t.Context(), "another life", 10*time.Second, func(context.Context) error {
		if process.Restarts() != 1 || process.PID() == first {
			return fmt.Errorf("it was started again %d times", process.Restarts())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	// Twice the pause: long enough for a restart that must not come.
	err = poll(t.Context(), "a restart after Kill", 2*restartPause, func(context.Context) error {
		if process.Restarts() == 1 {
			return errors.New("there was none")
		}
		return nil
	})
	if err == nil || process.Alive() {
		t.Error("a process that was killed on purpose is started again")
	}
}

func TestStartTellsWhyAProcessEnded(t *testing.T) {
	process := newServer(t)
	process.path = "/bin/sh"
	process.args = []string{"-c", "echo the disk is full; exit 3"}
	err := process.Start(t.Context())
	if err == nil {
		t.Fatal("a process that ends at once was taken for ready")
	}
	for _, want := range []string{"starting server", "exit status 3", "the disk is full"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not tell %q: %v", want, err)
		}
	}
}

func TestStartTellsATakenPort(t *testing.T) {
	first, second := newServer(t), newServer(t)
	if err := first.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	second.env = first.env
	if err := second.Start(t.Context()); !errors.Is(err, errPortTaken) {
		t.Errorf("starting on a taken port gives %v, want %v", err, errPortTaken)
	}
}

// TestProcessEndsWithItsParent kills the parent outright, which then can clean nothing up.
func TestProcessEndsWithItsParent(t *testing.T) {
	server := newServer(t)
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), roleVariable+"="+roleParent, server.env[1], "LOCALCLUSTER_TEST_FOLDER="+t.TempDir())
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // "signal: killed"
	err = poll(t.Context(), "the child to end", 10*time.Second, func(context.Context) error {
		if err := syscall.Kill(child, 0); !errors.Is(err, syscall.ESRCH) && !isZombie(child) {
			return fmt.Errorf("process %d is there", child)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// isZombie tells a process that has ended and that nobody has waited for yet.
func isZombie(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && strings.Contains(string(status), "State:\tZ")
}
