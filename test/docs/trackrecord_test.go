package docs

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/streamshift/streamshift/internal/crashpoint"
)

// TestWhatTheTrackRecordNamesExists: tests, specs and crash points.
func TestWhatTheTrackRecordNamesExists(t *testing.T) {
	content, err := os.ReadFile("../../docs/track-record.md")
	if err != nil {
		t.Fatal(err)
	}
	_, scenarios, found := strings.Cut(string(content), "# What went wrong elsewhere")
	if !found {
		t.Fatal("docs/track-record.md has no table of scenarios")
	}
	for _, test := range regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(scenarios, -1) {
		if !inTests(t, "func "+test+"(") {
			t.Errorf("there is no test %s", test)
		}
	}
	rows := regexp.MustCompile(`(?m)^\|.*\|$`).FindAllString(scenarios, -1)
	for _, row := range rows {
		cells := strings.Split(row, "|")
		for _, spec := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(cells[len(cells)-2], -1) {
			if !inTests(t, `("`+spec[1]+`"`) {
				t.Errorf("there is no spec %q", spec[1])
			}
		}
	}
	known := map[string]bool{}
	for _, point := range crashpoint.All() {
		known[string(point)] = true
	}
	for _, point := range regexp.MustCompile("`((?:register|session|store|file|transfer)\\.[a-zA-Z.-]+)`").FindAllStringSubmatch(scenarios, -1) {
		if !known[point[1]] {
			t.Errorf("there is no crash point %s", point[1])
		}
	}
}

// inTests tells whether a text is in a test's source.
func inTests(t *testing.T, text string) bool {
	t.Helper()
	command := exec.CommandContext(t.Context(), "grep", "-rqF", "--include=*_test.go", text, "internal", "controllers", "test", "streamclient")
	command.Dir = "../.."
	return command.Run() == nil
}
