package imports

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listed is what "go list -json" tells of a package.
type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

func TestSourcesKeepToTheTable(t *testing.T) {
	packages := listPackages(t)
	if len(packages) < len(table) {
		t.Errorf("%d packages are listed for %d rules: are all of them seen?", len(packages), len(table))
	}
	for _, found := range packages {
		for _, complaint := range judge(found) {
			t.Error(complaint)
		}
	}
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Dir,GoFiles,Imports", "./...")
	command.Dir = filepath.Join("..", "..")
	output, err := command.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("listing packages: %v: %s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	var packages []listed
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var next listed
		if err := decoder.Decode(&next); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, next)
	}
}

// judge returns a sentence for everything about the package that the table does not allow.
func judge(found listed) []string {
	at := slices.IndexFunc(table, func(rule rule) bool { return covers(rule.packages, found.ImportPath) })
	if at < 0 {
		return []string{fmt.Sprintf("%s has no rule in the table", found.ImportPath)}
	}
	rule := table[at]
	var complaints []string
	for _, path := range found.Imports {
		if isStandard(path) {
			if rule.purity == pure && coveredBy(worldlyImports, path) {
				complaints = append(complaints, fmt.Sprintf("%s is pure and imports %s", found.ImportPath, path))
			}
			continue
		}
		if !coveredBy(rule.may, path) {
			complaints = append(complaints, fmt.Sprintf("%s may not import %s", found.ImportPath, path))
		}
	}
	switch rule.purity {
	case worldly:
	case pure:
		for _, file := range found.GoFiles {
			complaints = append(complaints, clockUses(filepath.Join(found.Dir, file), nil)...)
		}
	}
	return complaints
}

// clockUses returns a sentence for each place where the file reads the clock. The source is read from the file where it is nil.
func clockUses(file string, source any) []string {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	var complaints []string
	ast.Inspect(parsed, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if name, ok := selector.X.(*ast.Ident); ok && name.Name == "time" && slices.Contains(worldlyTime, selector.Sel.Name) {
			complaints = append(complaints, fmt.Sprintf("%s: pure code uses time.%s", set.Position(selector.Pos()), selector.Sel.Name))
		}
		return true
	})
	return complaints
}

// isStandard tells the standard library's paths: their first element has no dot.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func coveredBy(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return covers(pattern, path) })
}

// covers tells whether a pattern of the table stands for the path.
func covers(pattern, path string) bool {
	prefix, below := strings.CutSuffix(pattern, "...")
	if !below {
		return pattern == path
	}
	return strings.HasPrefix(path+"/", prefix)
}

func TestJudge(t *testing.T) {
	tests := map[string]struct {
		found listed
		want  []string
	}{
		"a package that keeps to its rule": {
			found: listed{ImportPath: engine, Imports: []string{"os", logr, engine + "/store"}},
		},
		"a package that no rule knows": {
			found: listed{ImportPath: module + "internal/util"},
			want:  []string{module + "internal/util has no rule in the table"},
		},
		"the engine may not know Kubernetes": {
			found: listed{ImportPath: engine, Imports: []string{"k8s.io/client-go/rest"}},
			want:  []string{engine + " may not import k8s.io/client-go/rest"},
		},
		"only the sessions' controller sees the engine": {
			found: listed{ImportPath: module + "controllers/stream", Imports: []string{engine}},
			want:  []string{module + "controllers/stream may not import " + engine},
		},
		"a pure package may not open files": {
			found: listed{ImportPath: handoff, Imports: []string{"fmt", "os"}},
			want:  []string{handoff + " is pure and imports os"},
		},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			if difference := cmp.Diff(test.want, judge(test.found)); difference != "" {
				t.Errorf("complaints differ (-want +got):\n%s", difference)
			}
		})
	}
}

func TestClockUses(t *testing.T) {
	const source = "package p\nimport \"time\"\nvar limit = 3 * time.Second\nvar began = time.Now()\n"
	want := []string{"p.go:4:13: pure code uses time.Now"}
	if difference := cmp.Diff(want, clockUses("p.go", source)); difference != "" {
		t.Errorf("complaints differ (-want +got):\n%s", difference)
	}
}
