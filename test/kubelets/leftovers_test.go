//go:build linux

package kubelets

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestOnlyTheRecordedProcessIsEnded(t *testing.T) {
	f := folder(t.TempDir())
	start := func() *exec.Cmd {
		t.Helper()
		sleeper := exec.CommandContext(t.Context(), "sleep", "60")
		if err := sleeper.Start(); err != nil {
			t.Fatal(err)
		}
		return sleeper
	}
	recorded, stranger := start(), start()
	if err := f.record(recorded.Process.Pid); err != nil {
		t.Fatal(err)
	}
	// The stranger has a number that was recorded once, of a process that started at another time.
	other, err := startOf(recorded.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	before := fmt.Appendf(nil, "%d %s0\n", stranger.Process.Pid, other)
	known, err := os.ReadFile(f.join("processes"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.write(append(known, before...), "processes"); err != nil {
		t.Fatal(err)
	}

	if err := f.endRecorded(); err != nil {
		t.Fatal(err)
	}
	if err := recorded.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the recorded process ended with %v, want it killed", err)
	}
	if _, err := startOf(stranger.Process.Pid); err != nil {
		t.Errorf("the stranger has ended: %v", err)
	}
	if err := stranger.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = stranger.Wait() // by the line above
}

func TestNothingRecordedIsNothingToEnd(t *testing.T) {
	if err := folder(t.TempDir()).endRecorded(); err != nil {
		t.Error(err)
	}
}

func TestAStartIsReadWhateverTheProgramIsCalled(t *testing.T) {
	program := filepath.Join(t.TempDir(), "a) b 7 (c")
	sleep, err := os.ReadFile(installed("sleep"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, sleep, 0o700); err != nil {
		t.Fatal(err)
	}
	sleeper := exec.CommandContext(t.Context(), program, "60")
	if err := sleeper.Start(); err != nil {
		t.Skipf("a copy of sleep does not run here: %v", err)
	}
	began, err := startOf(sleeper.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if len(strings.Fields(began)) != 2 {
		t.Errorf("it started at %q, want a boot and a count of ticks", began)
	}
	if err := sleeper.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = sleeper.Wait() // by the line above
}

func TestCgroupsAreRemovedFromTheLeavesUp(t *testing.T) {
	root := filepath.Join(t.TempDir(), "n1")
	if err := os.MkdirAll(filepath.Join(root, "kubepods", "pod1"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing
		if err := removeTree(root); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}
