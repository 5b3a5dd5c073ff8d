//go:build linux

package kubelets

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// pauseImage is the image of the process that holds a pod's namespaces.
const pauseImage = "docker.io/streamshift/pause:" + pauseVersion

const pauseVersion = "dev"

// Images are to be built from a checkout for this machine's architecture, with one tag, as hack/images of the tests' own checkout builds them.
type Images struct {
	// Checkout is the folder of the sources.
	Checkout string
	// Version is the tag.
	Version string
	// Programs is the folder below Checkout that has the programs' packages; Names are the programs.
	Programs string
	Names    []string
}

// buildImages builds the images as archives, which every node imports when it starts.
func (c *Cluster) buildImages(ctx context.Context, images Images) error {
	layouts := c.folder.join("layouts")
	//nolint:gosec // our own tests say what is built
	build := exec.CommandContext(ctx, "go", "-C", filepath.Join(c.options.Checkout, "hack", "images"), "run", ".",
		"-module", images.Checkout, "-programs", images.Programs, "-only", strings.Join(images.Names, ","), "-version", images.Version,
		"-folder", layouts, "-platforms", "linux/"+runtime.GOARCH)
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building images: %w\n%s", err, output)
	}
	for _, name := range images.Names {
		if err := archive(filepath.Join(layouts, name), c.folder.join("images", name+"-"+images.Version+".tar")); err != nil {
			return fmt.Errorf("archiving the image of %s: %w", name, err)
		}
	}
	return nil
}

// archive writes a folder as an archive.
func archive(folder, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making its folder: %w", err)
	}
	file, err := os.Create(path) //nolint:gosec // below the cluster's folder
	if err != nil {
		return fmt.Errorf("making it: %w", err)
	}
	packed := tar.NewWriter(file)
	err = packed.AddFS(os.DirFS(folder))
	return errors.Join(err, packed.Close(), file.Close())
}
