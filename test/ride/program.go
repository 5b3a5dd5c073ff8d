package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// program is a client that rides: what it is and how it is run.
type program struct {
	name string
	// prepare are the commands that get the program ready to run, each in folder.
	prepare [][]string
	// command runs the program in folder; the stream's URL follows.
	command []string
	folder  string
	// writers and readers are those that the program has.
	writers, readers []string
}

// programs returns every client, in the folder of this package's sources.
func programs(folder string) []program {
	both := []string{"producer", "plain"}
	readers := []string{"sse", "long-poll"}
	of := func(name string, writers []string, prepare [][]string, command ...string) program {
		return program{
			name: name, folder: filepath.Join(folder, name), prepare: prepare, command: command, writers: writers, readers: readers,
		}
	}
	return []program{
		of("typescript", both, [][]string{{"npm", "ci", "--ignore-scripts"}}, "node", "ride.js"),
		// The Python client has no producer.
		of("python", both[1:], [][]string{
			{"python3", "-m", "venv", ".venv"},
			{".venv/bin/pip", "install", "--quiet", "--require-hashes", "-r", "requirements.txt"},
		}, ".venv/bin/python", "ride.py"),
		of("rust", both, [][]string{{"cargo", "build", "--quiet", "--locked"}}, "target/debug/streamshift-ride"),
		of("curl", both, nil, "./ride.sh"),
		of("go", both, [][]string{{"go", "build", "-o", "../../../bin/ride-go", "."}}, "../../../bin/ride-go"),
	}
}

// get makes the program ready to run.
func (p program) get(ctx context.Context) error {
	for _, line := range p.prepare {
		command := exec.CommandContext(ctx, line[0], line[1:]...) //nolint:gosec // the lines above
		command.Dir = p.folder
		command.Stdout, command.Stderr = os.Stderr, os.Stderr
		if err := command.Run(); err != nil {
			return fmt.Errorf("preparing %s by %v: %w", p.name, line, err)
		}
	}
	return nil
}
