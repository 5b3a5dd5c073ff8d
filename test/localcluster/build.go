package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// assets are the programs of the control plane.
type assets struct {
	etcd      string
	apiServer string
	kubectl   string
}

// buildAssets builds the control plane into the machine's cache, which takes minutes the first time and nothing afterwards.
func buildAssets(ctx context.Context, progress io.Writer) (assets, error) {
	root, err := moduleRoot()
	if err != nil {
		return assets{}, err
	}
	var output strings.Builder
	command := exec.CommandContext(ctx, "bash", filepath.Join(root, "hack", "controlplane", "build.sh")) //nolint:gosec // a script of this module
	command.Stdout, command.Stderr = &output, progress
	if err := command.Run(); err != nil {
		return assets{}, fmt.Errorf("building the control plane: %w", err)
	}
	folder := strings.TrimSpace(output.String())
	return assets{
		etcd:      filepath.Join(folder, "etcd"),
		apiServer: filepath.Join(folder, "kube-apiserver"),
		kubectl:   filepath.Join(folder, "kubectl"),
	}, nil
}

// moduleRoot is the folder of this module's go.mod, at or above the current one: tests run in their package's folder, programs
// in the checkout.
func moduleRoot() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the current folder: %w", err)
	}
	for {
		content, err := os.ReadFile(filepath.Join(folder, "go.mod"))
		if err == nil && strings.HasPrefix(string(content), "module github.com/streamshift/streamshift\n") {
			return folder, nil
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", errors.New("finding Streamshift's checkout: neither the current folder nor one above it is inside of it")
		}
		folder = parent
	}
}
