package s3server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Variable names the environment variable with the path of the server's program; hack/s3server/build.sh prints it.
const Variable = "STREAMSHIFT_S3_SERVER"

// Bucket is the bucket that every server has.
const Bucket = "bucket"

const (
	accessKey = "test"
	secretKey = "test-secret"
	// startTimeout bounds how long a server may take until it listens, startTries how often a port may be lost to another program.
	startTimeout = 30 * time.Second
	startTries   = 5
)

// Program returns the path of the server's program, or an error that tells how to get one.
func Program() (string, error) {
	if program := os.Getenv(Variable); program != "" {
		return program, nil
	}
	return "", fmt.Errorf("%s is not set, so there is no S3 server to test against; make test-s3 builds one and sets it", Variable)
}

// Build builds the server into the machine's cache, unless it is there, and returns its path. root is the checkout.
func Build(ctx context.Context, root string) (string, error) {
	var output bytes.Buffer
	build := exec.CommandContext(ctx, "bash", filepath.Join(root, "hack", "s3server", "build.sh")) //nolint:gosec // a script of this module
	build.Stdout, build.Stderr = &output, os.Stderr
	if err := build.Run(); err != nil {
		return "", fmt.Errorf("building the S3 server: %w", err)
	}
	return strings.TrimSpace(output.String()), nil
}

// Server is one process.
type Server struct {
	// Address is where it listens: host and port.
	Address string
	command *exec.Cmd
	output  bytes.Buffer
}

// Start starts a server whose objects are files in a folder, and waits until it listens. It ends with Stop, or with ctx.
func Start(ctx context.Context, program, folder string) (*Server, error) {
	var errs []error
	for range startTries {
		s, err := tryStart(ctx, program, folder)
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// Arguments makes the bucket in a folder, and returns the arguments of a server that has it and listens at the address.
func Arguments(address, folder string) ([]string, error) {
	if err := os.MkdirAll(filepath.Join(folder, Bucket), 0o700); err != nil {
		return nil, fmt.Errorf("making the bucket: %w", err)
	}
	return []string{"--access", accessKey, "--secret", secretKey, "--port", address, "posix", folder}, nil
}

// tryStart picks a port that is free now; another program may be faster.
func tryStart(ctx context.Context, program, folder string) (*Server, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("finding a port: %w", err)
	}
	s := &Server{Address: listener.Addr().String()}
	if err := listener.Close(); err != nil {
		return nil, fmt.Errorf("finding a port: %w", err)
	}
	args, err := Arguments(s.Address, folder)
	if err != nil {
		return nil, err
	}
	s.command = exec.CommandContext(ctx, program, args...) //nolint:gosec // the caller names it
	s.command.Stdout, s.command.Stderr = &s.output, &s.output
	if err := s.command.Start(); err != nil {
		return nil, fmt.Errorf("starting the S3 server: %w", err)
	}
	if err := s.await(ctx); err != nil {
		s.Stop()
		return nil, fmt.Errorf("starting the S3 server: %w\n%s", err, s.output.String())
	}
	return s, nil
}

// await connects until the server listens.
func (s *Server) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Address)
		if err == nil {
			return connection.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it does not listen: %w", err)
		case <-tick.C:
		}
	}
}

// Stop ends the process and waits until it has ended.
func (s *Server) Stop() {
	_ = s.command.Process.Kill() // it has ended already
	_ = s.command.Wait()         // by the line above
}

// Output is what the server has printed; it is complete once the server was stopped.
func (s *Server) Output() string { return s.output.String() }

// StoreURL is the URL of an object store in the server's bucket, for who has Env. address is the server's, or that of a
// proxy in front of it.
func StoreURL(address string) string {
	return "s3://" + Bucket + "?region=us-east-1&use_path_style=true&endpoint=http://" + address
}

// Env are the credentials, as variables of the environment.
func Env() []string {
	return []string{"AWS_ACCESS_KEY_ID=" + accessKey, "AWS_SECRET_ACCESS_KEY=" + secretKey}
}
