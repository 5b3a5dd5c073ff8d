package skew

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// earlier is the commit whose components run beside today's: the first one whose components run with the roles and flags of today.
// Once there are releases it is the one before.
const earlier = "1a228e7c9e08"

// components are what may be of either version.
var components = []string{"manager", "node", "gateway"}

// buildEarlier builds the components of the earlier commit into bin/ of the checkout, unless they are there, and returns their folder.
func buildEarlier(ctx context.Context, t *testing.T, root string) string {
	t.Helper()
	if output, err := exec.CommandContext(ctx, "git", "-C", root, "cat-file", "-e", earlier+"^{commit}").CombinedOutput(); err != nil {
		t.Skipf("skipped: this checkout does not have the earlier commit %s: %s", earlier, strings.TrimSpace(string(output)))
	}
	folder := filepath.Join(root, "bin", "earlier-"+earlier)
	if _, err := os.Stat(folder); err == nil {
		return folder
	}
	source, building := t.TempDir(), folder+".building"
	script := fmt.Sprintf("git -C %q archive %s | tar -x -C %q && cd %q && go build -o %q/ ./cmd/manager ./cmd/node ./cmd/gateway", root, earlier, source, source, building)
	if output, err := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", script).CombinedOutput(); err != nil {
		t.Fatalf("building the earlier components: %v\n%s", err, output)
	}
	if err := os.Rename(building, folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

// version is what a component is started as.
type version int

const (
	before version = iota
	today
)

func (v version) String() string {
	if v == before {
		return "before"
	}
	return "today"
}

// programs is a folder of programs each of which is of one version or the other, as is chosen when it is started.
type programs struct{ folder string }

// newPrograms makes one; each program is a script that becomes the real one.
func newPrograms(t *testing.T, earlierFolder, todaysFolder string) programs {
	t.Helper()
	p := programs{t.TempDir()}
	for _, name := range components {
		choice := filepath.Join(p.folder, name+".is")
		script := fmt.Sprintf(`#!/usr/bin/env bash
if [ "$(cat %q)" = today ]; then exec %q "$@"; fi
exec %q "$@"
`, choice, filepath.Join(todaysFolder, name), filepath.Join(earlierFolder, name))
		if err := os.WriteFile(filepath.Join(p.folder, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		p.choose(t, name, before)
	}
	return p
}

// choose has a component be of a version from its next start on.
func (p programs) choose(t *testing.T, component string, v version) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.folder, component+".is"), []byte(v.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
