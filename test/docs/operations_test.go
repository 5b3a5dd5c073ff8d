package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// ended are the actions after which a transfer waits for nothing.
var ended = map[string]bool{"TransferSucceed": true, "TransferFail": true, "TransferCancel": true, "TransferFinished": true, "TransferWithdraw": true, "TransferTakeOver": true}

// TestEveryStateInWhichATransferWaitsHasAPage: named like the reason of its condition.
func TestEveryStateInWhichATransferWaitsHasAPage(t *testing.T) {
	values := constants(t, "../../api/v1alpha1/conditions.go")
	index, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	waits := map[string]bool{}
	for _, file := range parse(t, "../../internal/handoff/transfer.go") {
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok || len(literal.Elts) < 2 || name(literal.Type) != "TransferDecision" || ended[name(literal.Elts[0])] {
				return true
			}
			if reason := values[name(literal.Elts[1])]; reason != "" {
				waits[reason] = true
			}
			return true
		})
	}
	if len(waits) < 5 {
		t.Fatalf("only %v were found: does the code say it otherwise now?", waits)
	}
	for reason := range waits {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations", reason+".md"))
		switch {
		case err != nil:
			t.Errorf("reason %s: %v", reason, err)
		case !strings.HasPrefix(string(page), "# "+reason+"\n\nThe transfer waits for ") || !strings.Contains(string(page), "\n## What you can do\n"):
			t.Errorf("the page of %s does not say what a transfer waits for, and what a person can do", reason)
		case !strings.Contains(string(index), "(operations/"+reason+".md)"):
			t.Errorf("docs/operations.md does not lead to the page of %s", reason)
		}
	}
}

func parse(t *testing.T, paths ...string) []*ast.File {
	t.Helper()
	files := make([]*ast.File, 0, len(paths))
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// constants returns the string constants of a file by name.
func constants(t *testing.T, path string) map[string]string {
	t.Helper()
	values := map[string]string{}
	ast.Inspect(parse(t, path)[0], func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		for i, value := range spec.Values {
			if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				values[spec.Names[i].Name], _ = strconv.Unquote(literal.Value)
			}
		}
		return true
	})
	return values
}

// name is an identifier's, or what is selected of a package.
func name(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}
