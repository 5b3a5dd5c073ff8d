package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/streamshift/streamshift/test/s3server"
	"github.com/streamshift/streamshift/test/solo"
)

// The systems that are measured.
const (
	onFiles   = "file"
	onS3      = "s3"
	reference = "reference"
)

// system is one server that is measured.
type system struct {
	name   string
	server *solo.Server
	// counts tells that the server counts the objects that it creates.
	counts bool
}

// starter starts one system with its data in a folder, and returns what ends what it needed besides.
type starter func(ctx context.Context, program, folder string) (*solo.Server, func(), error)

// startSystems starts the servers, or only one of them, and returns what ends them.
func startSystems(ctx context.Context, folder, only string) (systems []system, stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	program, err := solo.Build(ctx, folder)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range []struct {
		name   string
		start  starter
		counts bool
	}{
		{onFiles, startOnFiles, true},
		{reference, startReference, false},
		{onS3, startOnS3, true},
	} {
		if only != "" && only != s.name {
			continue
		}
		server, after, err := s.start(ctx, program, filepath.Join(folder, s.name))
		if err != nil {
			stop()
			return nil, nil, err
		}
		stops = append(stops, server.Kill, after)
		systems = append(systems, system{name: s.name, server: server, counts: s.counts})
	}
	return systems, stop, nil
}

func startOnFiles(ctx context.Context, program, folder string) (*solo.Server, func(), error) {
	server, err := solo.Start(ctx, solo.Options{Program: program, Store: "file://" + folder, Epoch: 1})
	return server, func() {}, err
}

func startOnS3(ctx context.Context, program, folder string) (*solo.Server, func(), error) {
	s3Program, err := s3server.Build(ctx, ".")
	if err != nil {
		return nil, nil, err
	}
	s3, err := s3server.Start(ctx, s3Program, folder)
	if err != nil {
		return nil, nil, err
	}
	server, err := solo.Start(ctx, solo.Options{Program: program, Store: s3server.StoreURL(s3.Address), Epoch: 1, Env: s3server.Env()})
	if err != nil {
		s3.Stop()
	}
	return server, s3.Stop, err
}

// referenceFolder has the package.json that pins the reference server.
const referenceFolder = "test/appendbench/reference"

func startReference(ctx context.Context, _, folder string) (*solo.Server, func(), error) {
	if _, err := os.Stat(filepath.Join(referenceFolder, "node_modules")); err != nil {
		install := exec.CommandContext(ctx, "npm", "ci")
		install.Dir, install.Stdout, install.Stderr = referenceFolder, os.Stderr, os.Stderr
		if err := install.Run(); err != nil {
			return nil, nil, fmt.Errorf("installing the reference server: %w", err)
		}
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, nil, fmt.Errorf("making a folder for the reference server: %w", err)
	}
	node := exec.CommandContext(ctx, "node", "server.js", folder) //nolint:gosec // a script of this folder
	node.Dir = referenceFolder
	server, err := solo.StartCommand(node)
	return server, func() {}, err
}
