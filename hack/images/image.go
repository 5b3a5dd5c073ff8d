package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is nobody in particular, and not root. The manifests say the same.
const user = 65532

// epoch is when everything in an image was made, so that an image depends on nothing but its content.
var epoch = time.Unix(0, 0).UTC()

// file is one entry of a layer. A path that ends in a slash is a folder.
type file struct {
	path    string
	mode    int64
	content []byte
}

// buildIndex builds the component's image for every platform.
func buildIndex(ctx context.Context, from source, component, version string, platforms []v1.Platform) (v1.ImageIndex, error) {
	index := emptyIndex()
	for _, platform := range platforms {
		program, err := buildProgram(ctx, from, component, version, platform)
		if err != nil {
			return nil, err
		}
		image, err := assemble(component, version, platform, program)
		if err != nil {
			return nil, fmt.Errorf("assembling for %s: %w", platform.String(), err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return index, nil
}

func emptyIndex() v1.ImageIndex { return mutate.IndexMediaType(empty.Index, types.OCIImageIndex) }

// assemble returns the image of a program: one layer that all components share, and one with the program.
func assemble(component, version string, platform v1.Platform, program []byte) (v1.Image, error) {
	layers := make([]v1.Layer, 0, 2)
	for _, files := range [][]file{foundation(), {{path: component, mode: 0o755, content: program}}} {
		made, err := layer(files)
		if err != nil {
			return nil, err
		}
		layers = append(layers, made)
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.ConfigFile(image, &v1.ConfigFile{
		OS: platform.OS, Architecture: platform.Architecture, Created: v1.Time{Time: epoch},
		RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User: strconv.Itoa(user) + ":" + strconv.Itoa(user), Entrypoint: []string{"/" + component}, WorkingDir: "/",
			Labels: map[string]string{
				"org.opencontainers.image.title": "streamshift-" + component, "org.opencontainers.image.version": version,
				"org.opencontainers.image.licenses": "Apache-2.0",
			},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("setting the configuration: %w", err)
	}
	if image, err = mutate.AppendLayers(image, layers...); err != nil {
		return nil, fmt.Errorf("adding layers: %w", err)
	}
	return image, nil
}

// foundation is what a program needs besides itself: a user's name, and the authorities that object stores are certified by.
func foundation() []file {
	var authorities bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&authorities, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
	}
	identity := strconv.Itoa(user)
	return []file{
		{path: "etc/", mode: 0o755},
		{path: "etc/passwd", mode: 0o644, content: []byte("nonroot:x:" + identity + ":" + identity + ":nonroot:/:/none\n")},
		{path: "etc/group", mode: 0o644, content: []byte("nonroot:x:" + identity + ":\n")},
		{path: "etc/ssl/", mode: 0o755},
		{path: "etc/ssl/certs/", mode: 0o755},
		{path: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, content: authorities.Bytes()},
		{path: "tmp/", mode: 0o1777},
	}
}

// layer packs files; all belong to root, so that the program cannot change them.
func layer(files []file) (v1.Layer, error) {
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	for _, f := range files {
		header := &tar.Header{Name: f.path, Mode: f.mode, Size: int64(len(f.content)), ModTime: epoch, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if f.path[len(f.path)-1] == '/' {
			header.Typeflag = tar.TypeDir
		}
		if err := writer.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.path, err)
		}
		if _, err := writer.Write(f.content); err != nil {
			return nil, fmt.Errorf("packing %s: %w", f.path, err)
		}
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("packing a layer: %w", err)
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil }
	made, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("making a layer: %w", err)
	}
	return made, nil
}

// writeLayout writes the OCI layout, in place of what was there.
func writeLayout(folder, component, version string, index v1.ImageIndex) error {
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("removing the one before: %w", err)
	}
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return fmt.Errorf("beginning the layout: %w", err)
	}
	named := layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": version, "io.containerd.image.name": "docker.io/streamshift/" + component + ":" + version,
	})
	if err := path.AppendIndex(index, named); err != nil {
		return fmt.Errorf("writing the layout: %w", err)
	}
	return nil
}

func pushIndex(ctx context.Context, reference string, index v1.ImageIndex) error {
	tag, err := name.NewTag(reference)
	if err != nil {
		return fmt.Errorf("reading the name: %w", err)
	}
	if err := remote.WriteIndex(tag, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("writing to the registry: %w", err)
	}
	return nil
}
