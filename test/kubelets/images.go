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

// Images are to be built for this machine's architecture, with one tag, as the checkout's hack/images builds them.
type Images struct {
	// Commit is an earlier one of the checkout; the checkout as it is where empty.
	Commit string
	// Version is the tag.
	Version string
	// Programs is the folder of the sources that has the programs' packages; Names are the programs.
	Programs string
	Names    []string
}

// provideImages puts the images where every node finds them when it starts. Those of a commit are the same each time: they are kept in the
// machine's cache.
func (c *Cluster) provideImages(ctx context.Context, images Images) error {
	folder := c.folder.join("images")
	if images.Commit == "" {
		return c.buildImages(ctx, images, folder)
	}
	if err := c.extract(ctx, images.Commit); err != nil {
		return err
	}
	caches, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("finding the machine's cache: %w", err)
	}
	kept := filepath.Join(caches, "streamshift", "images", images.Commit+"-"+runtime.Version()+"-"+runtime.GOARCH)
	if _, err := os.Stat(kept); err != nil {
		unfinished := fmt.Sprintf("%s.%d", kept, os.Getpid())
		if err := c.buildImages(ctx, images, unfinished); err != nil {
			return err
		}
		if err := os.Rename(unfinished, kept); err != nil {
			return fmt.Errorf("keeping images: %w", err)
		}
	}
	return command(ctx, "cp", "-R", kept+"/.", folder)
}

// buildImages builds images, and writes them into a folder as archives.
func (c *Cluster) buildImages(ctx context.Context, images Images, folder string) error {
	layouts := c.folder.join("layouts")
	//nolint:gosec // our own tests say what is built
	build := exec.CommandContext(ctx, "go", "-C", filepath.Join(c.options.Checkout, "hack", "images"), "run", ".",
		"-module", c.Sources(images.Commit), "-programs", images.Programs, "-only", strings.Join(images.Names, ","), "-version", images.Version,
		"-folder", layouts, "-platforms", "linux/"+runtime.GOARCH)
	if output, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building images: %w\n%s", err, output)
	}
	for _, name := range images.Names {
		if err := archive(filepath.Join(layouts, name), filepath.Join(folder, name+"-"+images.Version+".tar")); err != nil {
			return fmt.Errorf("archiving the image of %s: %w", name, err)
		}
	}
	return nil
}

// Sources is the folder of a commit's sources; that of the checkout where it is empty.
func (c *Cluster) Sources(commit string) string {
	if commit == "" {
		return c.options.Checkout
	}
	return c.folder.join("sources", commit)
}

// extract puts a commit's sources into a folder.
func (c *Cluster) extract(ctx context.Context, commit string) error {
	folder := c.Sources(commit)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("making the folder of commit %s: %w", commit, err)
	}
	packed := c.folder.join("sources", commit+".tar")
	if err := command(ctx, "git", "-C", c.options.Checkout, "archive", "--output="+packed, commit); err != nil {
		return err
	}
	return command(ctx, "tar", "-xf", packed, "-C", folder)
}

// archive writes a folder as an archive.
func archive(folder, path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making its folder: %w", err)
	}
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("making it: %w", err)
	}
	packed := tar.NewWriter(file)
	err = packed.AddFS(os.DirFS(folder))
	return errors.Join(err, packed.Close(), file.Close())
}
