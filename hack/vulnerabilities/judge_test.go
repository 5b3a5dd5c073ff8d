package main

import (
	"bytes"
	"strings"
	"testing"
)

// What govulncheck writes: functions of GO-1 are there, of a module, and one of GO-2, of the standard library; of GO-3 only the package.
const report = `
{"config":{"scanner_name":"govulncheck"}}
{"osv":{"id":"GO-1","summary":"Reads too much"}}
{"osv":{"id":"GO-2","summary":"Writes too little"}}
{"osv":{"id":"GO-3","summary":"Waits"}}
{"finding":{"osv":"GO-1","fixed_version":"v1.2.4","trace":[{"module":"example.com/m","version":"v1.2.3","package":"example.com/m/p"}]}}
{"finding":{"osv":"GO-1","fixed_version":"v1.2.4","trace":[{"module":"example.com/m","version":"v1.2.3","package":"example.com/m/p","function":"F"}]}}
{"finding":{"osv":"GO-1","fixed_version":"v1.2.4","trace":[{"module":"example.com/m","version":"v1.2.3","package":"example.com/m/p","function":"G"}]}}
{"finding":{"osv":"GO-2","fixed_version":"v1.26.9","trace":[{"module":"stdlib","version":"v1.26.8","package":"html/template","function":"Execute"}]}}
{"finding":{"osv":"GO-3","trace":[{"module":"example.com/n","version":"v1.0.0","package":"example.com/n"}]}}
`

func TestAVulnerabilityOfAModuleFails(t *testing.T) {
	list, err := present(strings.NewReader(report))
	if err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	if err := tell(&output, list, "v0"); err == nil {
		t.Error("a vulnerability of a module did not fail")
	}
	const want = "Of a module: GO-1 in example.com/m/p@v1.2.3, mended in v1.2.4: Reads too much (https://pkg.go.dev/vuln/GO-1)\n" +
		"Of this Go, build with a newer one: GO-2 in html/template@v1.26.8, mended in v1.26.9: Writes too little (https://pkg.go.dev/vuln/GO-2)\n" +
		"1 vulnerabilities of modules and 1 of this Go are in the programs, by the list v0\n"
	if output.String() != want {
		t.Errorf("told\n%swant\n%s", output.String(), want)
	}
}

func TestOneOfTheStandardLibraryIsTold(t *testing.T) {
	var only []string
	for line := range strings.Lines(report) {
		if !strings.Contains(line, `"GO-1"`) {
			only = append(only, line)
		}
	}
	list, err := present(strings.NewReader(strings.Join(only, "")))
	if err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	if err := tell(&output, list, "v0"); err != nil {
		t.Errorf("failed: %v", err)
	}
	if !strings.Contains(output.String(), "GO-2") || strings.Contains(output.String(), "GO-3") {
		t.Errorf("told %q, want GO-2 only", output.String())
	}
}

func TestAReportThatIsCutShortFails(t *testing.T) {
	if _, err := present(strings.NewReader(`{"finding":`)); err == nil {
		t.Error("no error")
	}
}
