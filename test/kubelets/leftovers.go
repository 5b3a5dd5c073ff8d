//go:build linux

package kubelets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// removeTimeout bounds how long what is removed may be in use by processes that were just killed.
const removeTimeout = 20 * time.Second

// record writes down which process was started: its number, and the moment of its start by the kernel's clock, which no other
// process of that number shares.
func (f folder) record(pid int) error {
	started, err := startOf(pid)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(f.join("processes"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("recording process %d: %w", pid, err)
	}
	_, err = fmt.Fprintf(file, "%d %s\n", pid, started)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("recording process %d: %w", pid, err)
	}
	return nil
}

// startOf returns when the process was started: in which boot of the machine, and after how many of its clock's ticks.
func startOf(pid int) (string, error) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", fmt.Errorf("looking for process %d: %w", pid, err)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("reading which boot this is: %w", err)
	}
	// The second field is the program's name in parentheses, and may hold anything; the start is the 22nd.
	fields := strings.Fields(string(status[bytes.LastIndexByte(status, ')')+1:]))
	if len(fields) < 20 {
		return "", fmt.Errorf("reading the state of process %d: %q has too few fields", pid, status)
	}
	return strings.TrimSpace(string(boot)) + " " + fields[19], nil
}

// removeLeftovers removes all that a cluster made, this one or an earlier one: first what runs, then cgroups, machines and files.
func (f folder) removeLeftovers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	if err := f.endRecorded(); err != nil {
		return err
	}
	var errs []error
	for _, n := range nodes() {
		errs = append(errs, n.removeCgroups(ctx))
	}
	for _, m := range machines() {
		if _, err := os.Lstat(m.namespacePath()); err == nil {
			errs = append(errs, command(ctx, "ip", "netns", "delete", m.namespace()))
		}
	}
	errs = append(errs, await(ctx, "files of the cluster to be removed", removeTimeout, func(context.Context) error {
		return os.RemoveAll(string(f))
	}))
	return errors.Join(errs...)
}

// endRecorded kills every recorded process that is still the recorded one.
func (f folder) endRecorded() error {
	content, err := os.ReadFile(f.join("processes"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading what was started: %w", err)
	}
	for line := range strings.Lines(string(content)) {
		number, started, _ := strings.Cut(strings.TrimSpace(line), " ")
		pid, err := strconv.Atoi(number)
		if err != nil {
			return fmt.Errorf("reading what was started: %w", err)
		}
		if now, err := startOf(pid); err != nil || now != started {
			continue // it has ended; the number may be another's
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("ending process %d: %w", pid, err)
		}
	}
	return nil
}

// await asks until check returns nil. When the time is over, its error says what was awaited and check's last reason.
func await(ctx context.Context, what string, timeout time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		last := check(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting up to %v for %s: %w", timeout, what, last)
		case <-ticker.C:
		}
	}
}
