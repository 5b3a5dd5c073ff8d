package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// demanded is how many tests the pinned suite has without forks, which are not supported.
const demanded = 250

// withoutForks selects the tests by their full name: the groups of forks are named "Fork - ...".
const withoutForks = "^(?!Fork)"

// suite is the conformance suite, as it is put to servers.
type suite struct {
	folder   string // of package.json
	longPoll time.Duration
}

// testTimeout is how long one test may take where the suite itself does not say. vitest's own 5 s are too short for a
// store that syncs every append on a machine that does other things too.
const testTimeout = 30 * time.Second

// counts is what came of a run, in the words of vitest's JSON reporter.
type counts struct {
	Passed int `json:"numPassedTests"`
	Failed int `json:"numFailedTests"`
	Suites int `json:"numFailedTestSuites"`
	Files  []struct {
		Tests []testResult `json:"assertionResults"`
	} `json:"testResults"`
}

type testResult struct {
	Name     string   `json:"fullName"`
	Status   string   `json:"status"`
	Messages []string `json:"failureMessages"`
}

// failures returns the tests that failed.
func (c counts) failures() []testResult {
	var failed []testResult
	for _, file := range c.Files {
		for _, test := range file.Tests {
			if test.Status == "failed" {
				failed = append(failed, test)
			}
		}
	}
	return failed
}

// check demands the exact number, so that a run that found fewer tests does not pass.
func (c counts) check() error {
	if c.Failed != 0 || c.Suites != 0 || c.Passed != demanded {
		return fmt.Errorf("%d tests passed and %d failed, %d must pass", c.Passed, c.Failed, demanded)
	}
	return nil
}

// run installs the suite if it is not there and runs it on the server at the URL. Failed tests are no error; they are in
// the counts.
func (s suite) run(ctx context.Context, url string) (counts, error) {
	if _, err := os.Stat(filepath.Join(s.folder, "node_modules")); errors.Is(err, os.ErrNotExist) {
		if err := s.command(ctx, "npm", "ci", "--ignore-scripts").Run(); err != nil {
			return counts{}, fmt.Errorf("installing the suite: %w", err)
		}
	}
	results, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return counts{}, fmt.Errorf("making a folder for the results: %w", err)
	}
	defer func() { _ = os.RemoveAll(results) }()
	file := filepath.Join(results, "results.json")

	vitest := s.command(ctx, "npx", "--no-install", "vitest", "run", "--testNamePattern", withoutForks,
		"--testTimeout="+strconv.FormatInt(testTimeout.Milliseconds(), 10), "--reporter=dot", "--reporter=json", "--outputFile="+file)
	vitest.Env = append(os.Environ(), "NO_COLOR=1", "CONFORMANCE_URL="+url,
		"CONFORMANCE_LONG_POLL_MS="+strconv.FormatInt(s.longPoll.Milliseconds(), 10))
	ran := vitest.Run()
	var exit *exec.ExitError
	if ran != nil && !errors.As(ran, &exit) {
		return counts{}, fmt.Errorf("running the suite: %w", ran)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return counts{}, fmt.Errorf("reading the results: %w", errors.Join(err, ran))
	}
	var c counts
	if err := json.Unmarshal(text, &c); err != nil {
		return counts{}, fmt.Errorf("reading the results: %w", err)
	}
	return c, nil
}

func (s suite) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // npm and npx, with arguments of this package
	cmd.Dir = s.folder
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}
