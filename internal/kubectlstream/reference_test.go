package kubectlstream

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write docs/kubectl-stream.md anew")

// The reference, a part of docs/kubectl-stream.md between two marks, is what the commands say of themselves.
const (
	referenceBegin = "<!-- What follows is written by: go test ./internal/kubectlstream -run TestReference -update -->\n"
	referenceEnd   = "<!-- End of what is written. -->\n"
)

func TestReference(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "kubectl-stream.md")
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(content), referenceBegin)
	_, tail, ends := strings.Cut(rest, referenceEnd)
	if !found || !ends {
		t.Fatalf("%s has no marks for the reference", page)
	}
	root, err := newCommand(newAccess(ProcessEnvironment()))
	if err != nil {
		t.Fatal(err)
	}
	var reference strings.Builder
	for _, command := range root.Commands() {
		if command.GroupID != "" {
			describeCommand(&reference, command)
		}
	}
	want := head + referenceBegin + "\n" + reference.String() + referenceEnd + tail
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(content)); diff != "" {
		t.Errorf("%s is stale: run 'go test ./internal/kubectlstream -run TestReference -update' (-want +got):\n%s", page, diff)
	}
}

func describeCommand(out *strings.Builder, command *cobra.Command) {
	text := command.Long
	if text == "" {
		text = command.Short + "."
	}
	fmt.Fprintf(out, "### %s\n\n%s\n\n```\n%s\n```\n\n| flag | default | |\n|---|---|---|\n", command.CommandPath(), text, command.Example)
	for line := range strings.SplitSeq(strings.TrimSpace(command.LocalFlags().FlagUsagesWrapped(0)), "\n") {
		flags, usage, _ := strings.Cut(strings.TrimSpace(line), "   ")
		usage, fallback, _ := strings.Cut(strings.TrimSpace(usage), " (default ")
		fmt.Fprintf(out, "| `%s` | %s | %s |\n", flags, strings.TrimSuffix(fallback, ")"), strings.ReplaceAll(usage, "|", "\\|"))
	}
	out.WriteString("\n")
}
