package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/vuln/scan"
)

// database is the module that has what is known.
const database = "golang.org/x/vulndb"

func main() {
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: vulnerabilities PROGRAM...\nLooks into programs that go build made for known vulnerabilities.")
	}
	flag.Parse()
	if err := run(context.Background(), os.Stdout, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "vulnerabilities:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, output io.Writer, programs []string) error {
	if len(programs) == 0 {
		return errors.New("naming no program: there is nothing to look at")
	}
	folder, version, err := download(ctx)
	if err != nil {
		fmt.Fprintln(output, "Nothing was scanned: the list of known vulnerabilities cannot be had:", err)
		return nil
	}
	reports := make([]io.Reader, 0, len(programs))
	for _, program := range programs {
		report := &bytes.Buffer{}
		if err := scanProgram(ctx, report, folder, program); err != nil {
			return err
		}
		reports = append(reports, report)
	}
	list, err := present(io.MultiReader(reports...))
	if err != nil {
		return err
	}
	return tell(output, list, version)
}

// scanProgram writes what govulncheck says of one program.
func scanProgram(ctx context.Context, report io.Writer, folder, program string) error {
	command := scan.Command(ctx, "-db", "file://"+filepath.ToSlash(folder), "-format", "json", "-mode", "binary", program)
	command.Stdout, command.Stderr = report, os.Stderr
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting the scan of %s: %w", program, err)
	}
	if err := command.Wait(); err != nil {
		return fmt.Errorf("scanning %s: %w", program, err)
	}
	return nil
}

// tell prints what was found, and fails where it is this repository that can mend it.
func tell(output io.Writer, list []vulnerability, version string) error {
	ours, goes := 0, 0
	for _, v := range list {
		if v.module == standardLibrary {
			goes++
			fmt.Fprintln(output, "Of this Go, build with a newer one:", v)
			continue
		}
		ours++
		fmt.Fprintln(output, "Of a module:", v)
	}
	fmt.Fprintf(output, "%d vulnerabilities of modules and %d of this Go are in the programs, by the list %s\n", ours, goes, version)
	if ours > 0 {
		return fmt.Errorf("%d vulnerabilities of modules are in the programs: require the versions without them", ours)
	}
	return nil
}

// download returns the folder of the newest list of what is known, and its version.
func download(ctx context.Context) (folder, version string, err error) {
	command := exec.CommandContext(ctx, "go", "mod", "download", "-json", database+"@latest")
	command.Dir = os.TempDir() // in no module: none is to require it
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	output, err := command.Output()
	var answer struct{ Dir, Version, Error string }
	if decodeErr := json.Unmarshal(output, &answer); decodeErr == nil && answer.Error != "" {
		return "", "", fmt.Errorf("downloading %s: %s", database, answer.Error)
	}
	if err != nil {
		return "", "", fmt.Errorf("downloading %s: %w", database, err)
	}
	return filepath.Join(answer.Dir, "data", "osv"), answer.Version, nil
}
