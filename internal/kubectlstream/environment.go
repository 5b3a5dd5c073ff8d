package kubectlstream

import (
	"crypto/rand"
	"os"
	"time"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// Environment is what the plugin knows of the world besides the cluster.
type Environment struct {
	genericiooptions.IOStreams
	// TerminalWidth is the number of columns of the terminal that Out is; 0 where it is a pipe or a file.
	TerminalWidth func() int
	// Now is the time, for ages.
	Now func() time.Time
	// NewID returns an identity that nobody else has.
	NewID func() string
	// Getenv returns an environment variable; empty where it is not set.
	Getenv func(string) string
}

// ProcessEnvironment is the one of this process.
func ProcessEnvironment() Environment {
	return Environment{
		IOStreams:     genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr},
		TerminalWidth: func() int { return terminalWidth(os.Stdout) },
		Now:           time.Now,
		NewID:         rand.Text,
		Getenv:        os.Getenv,
	}
}

func terminalWidth(file *os.File) int {
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0 // no terminal
	}
	return width
}
