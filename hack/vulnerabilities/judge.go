package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// standardLibrary is what govulncheck calls the module of Go's own packages.
const standardLibrary = "stdlib"

// message is one of the objects that govulncheck writes as JSON; those that are not looked at are left out.
type message struct {
	OSV *struct {
		ID      string `json:"id"`
		Summary string `json:"summary"`
	} `json:"osv"`
	Finding *struct {
		OSV          string  `json:"osv"`
		FixedVersion string  `json:"fixed_version"`
		Trace        []frame `json:"trace"`
	} `json:"finding"`
}

// frame says where vulnerable code is. It has no function where only its package or module is there.
type frame struct {
	Module   string `json:"module"`
	Version  string `json:"version"`
	Package  string `json:"package"`
	Function string `json:"function"`
}

// vulnerability is one whose code is in a program.
type vulnerability struct {
	id, summary    string
	module, within string
	fixed          string // the first version without it; empty: there is none yet
}

func (v vulnerability) String() string {
	fixed := "mended in no release yet"
	if v.fixed != "" {
		fixed = "mended in " + v.fixed
	}
	return fmt.Sprintf("%s in %s, %s: %s (https://pkg.go.dev/vuln/%s)", v.id, v.within, fixed, v.summary, v.id)
}

// present reads what govulncheck wrote and returns the vulnerabilities whose code is there, each once, by their ids.
func present(report io.Reader) ([]vulnerability, error) {
	summaries, found := map[string]string{}, map[string]vulnerability{}
	decoder := json.NewDecoder(report)
	for {
		var m message
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("reading the scanner's report: %w", err)
		}
		if m.OSV != nil {
			summaries[m.OSV.ID] = m.OSV.Summary
		}
		if f := m.Finding; f != nil && len(f.Trace) > 0 && f.Trace[0].Function != "" {
			at := f.Trace[0]
			found[f.OSV] = vulnerability{id: f.OSV, module: at.Module, within: at.Package + "@" + at.Version, fixed: f.FixedVersion}
		}
	}
	list := make([]vulnerability, 0, len(found))
	for _, id := range slices.Sorted(maps.Keys(found)) {
		v := found[id]
		v.summary = summaries[id]
		list = append(list, v)
	}
	return list, nil
}
