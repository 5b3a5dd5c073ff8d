package main

import (
	"archive/tar"
	"bytes"
	"crypto/x509"
	"debug/elf"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// component is built in tests from a module of a few lines: all of Streamshift takes minutes.
const component = "gateway"

var amd64, arm64 = v1.Platform{OS: "linux", Architecture: "amd64"}, v1.Platform{OS: "linux", Architecture: "arm64"}

func TestTheSameSourcesGiveTheSameImage(t *testing.T) {
	digests := map[v1.Hash]bool{}
	for range 2 {
		program, err := buildProgram(t.Context(), source{copyOfModule(t), "cmd"}, component, "v1.2.3", amd64)
		if err != nil {
			t.Fatal(err)
		}
		image, err := assemble(component, "dev", amd64, program)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := image.Digest()
		if err != nil {
			t.Fatal(err)
		}
		digests[digest] = true
	}
	if len(digests) != 1 {
		t.Errorf("two checkouts gave different images: %v", digests)
	}
}

// copyOfModule puts a small module at a path of its own, as another machine would have it.
func copyOfModule(t *testing.T) string {
	t.Helper()
	path := t.TempDir()
	if err := os.CopyFS(path, os.DirFS(filepath.Join("testdata", "module"))); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAProgramIsStatic(t *testing.T) {
	program, err := buildProgram(t.Context(), source{copyOfModule(t), "cmd"}, component, "v1.2.3", amd64)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	if libraries, err := parsed.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("it needs %v (%v)", libraries, err)
	}
	if parsed.Section(".interp") != nil {
		t.Error("it needs a loader")
	}
}

func TestAnImageHasAProgramAuthoritiesAndAUserAndNothingElse(t *testing.T) {
	image, err := assemble("node", "v9", arm64, []byte("program"))
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.Config.Entrypoint[0] != "/node" || config.Architecture != "arm64" {
		t.Errorf("configuration is %+v", config)
	}
	contents := map[string]string{}
	reader := tar.NewReader(mutate.Extract(image))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || !header.ModTime.Equal(epoch) {
			t.Errorf("%s belongs to %d and is of %s", header.Name, header.Uid, header.ModTime)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		contents[strings.TrimSuffix(header.Name, "/")] = string(content)
	}
	if contents["node"] != "program" {
		t.Errorf("the program is %q", contents["node"])
	}
	if !x509.NewCertPool().AppendCertsFromPEM([]byte(contents["etc/ssl/certs/ca-certificates.crt"])) {
		t.Error("there is no authority")
	}
	if len(contents) != len(foundation())+1 {
		t.Errorf("it has %d files", len(contents))
	}
}

func TestAnIndexIsWrittenAndPushedAsItIs(t *testing.T) {
	image, err := assemble("node", "v9", amd64, []byte("program"))
	if err != nil {
		t.Fatal(err)
	}
	index := mutate.AppendManifests(emptyIndex(), mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &amd64}})
	want, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}

	folder := t.TempDir()
	if err := writeLayout(folder, "node", "v9", index); err != nil {
		t.Fatal(err)
	}
	written, err := layout.FromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	top, err := written.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 1 || manifest.Manifests[0].Digest != want {
		t.Errorf("the layout has %v, want %s", manifest.Manifests, want)
	}

	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	reference := strings.TrimPrefix(server.URL, "http://") + "/streamshift/node:v9"
	if err := pushIndex(t.Context(), reference, index); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(reference)
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := remote.Get(tag)
	if err != nil {
		t.Fatal(err)
	}
	if pushed.Digest != want {
		t.Errorf("the registry has %s, want %s", pushed.Digest, want)
	}
}
