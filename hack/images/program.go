package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// source is where programs come from: the folder of their module, and the one below it that has their packages.
type source struct{ module, programs string }

// versionVariable is what programs say to --version.
const versionVariable = "github.com/streamshift/streamshift/internal/commandline.version"

// buildProgram builds the component's program for the platform and returns it. Nothing of the machine goes into it: no path, no time,
// no state of the checkout.
func buildProgram(ctx context.Context, from source, component, version string, platform v1.Platform) ([]byte, error) {
	work, err := os.MkdirTemp("", "streamshift-images")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	path := filepath.Join(work, component)
	//nolint:gosec // the component is one of ours
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid= -X "+versionVariable+"="+version, "-o", path,
		"./"+from.programs+"/"+component)
	command.Dir = from.module
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOOS="+platform.OS, "GOARCH="+platform.Architecture)
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building for %s: %w\n%s", platform.String(), err, output)
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the program: %w", err)
	}
	return program, nil
}
