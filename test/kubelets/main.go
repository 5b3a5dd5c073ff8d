//go:build linux

package kubelets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"
)

// inside is set in the environment of the process that the tests run in: to when the cluster was begun to be started.
const inside = "STREAMSHIFT_KUBELETS_INSIDE"

// RunTests is the body of a TestMain, behind RunNode. It starts a cluster, runs this program again on the clients' machine, where it runs the
// tests, and removes the cluster. Where none can be started it says why, and fails nothing. It returns the code for os.Exit.
func RunTests(m *testing.M, configure func(context.Context, *Options) error) int {
	if os.Getenv(inside) != "" {
		return m.Run()
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	code, err := runOutside(ctx, configure)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func runOutside(ctx context.Context, configure func(context.Context, *Options) error) (int, error) {
	checkout, err := checkoutOf()
	if err != nil {
		return 0, err
	}
	if obstacle := Obstacle(ctx, checkout); obstacle != "" {
		_, err := fmt.Fprintln(os.Stdout, "The tests on real kubelets are skipped:", obstacle)
		return 0, err //nolint:wrapcheck // nobody would read it
	}
	options := Options{Checkout: checkout, Progress: os.Stdout}
	if err := configure(ctx, &options); err != nil {
		return 0, err
	}
	cluster, err := Start(ctx, options)
	if err != nil {
		return 0, err
	}
	code, err := runInside(ctx, os.Stdout)
	return code, errors.Join(err, cluster.Stop(code != 0 || err != nil)) //nolint:contextcheck // also after the context has ended
}

// runInside runs this program on the clients' machine, and returns its exit code.
func runInside(ctx context.Context, output io.Writer) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("finding this program: %w", err)
	}
	args := append([]string{"--net=" + clients.namespacePath(), self}, os.Args[1:]...)
	tests := exec.CommandContext(ctx, "nsenter", args...) //nolint:gosec // this program
	tests.Env = append(os.Environ(), inside+"="+time.Now().Format(time.RFC3339Nano))
	tests.Stdout, tests.Stderr = output, output
	tests.SysProcAttr = &syscall.SysProcAttr{}
	tests.Cancel = func() error { return tests.Process.Signal(os.Interrupt) }
	tests.WaitDelay = time.Minute
	if err := spawn(tests); err != nil {
		return 0, fmt.Errorf("running the tests on the clients' machine: %w", err)
	}
	err = tests.Wait()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1), nil
	}
	return 0, err //nolint:wrapcheck // of this function's own process
}

// Attach returns the cluster that this process's tests run on. It must not be stopped.
func Attach(ctx context.Context) (*Cluster, error) {
	began, err := time.Parse(time.RFC3339Nano, os.Getenv(inside))
	if err != nil {
		return nil, fmt.Errorf("finding the cluster: these tests run by RunTests: %w", err)
	}
	c := &Cluster{folder: stateFolder(), began: began}
	if c.options.Checkout, err = checkoutOf(); err != nil {
		return nil, err
	}
	c.programs, err = cachedPrograms(ctx, c.options.Checkout)
	return c, err
}
