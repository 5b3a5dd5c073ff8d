package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// components are the programs that run in a cluster. The plugin of kubectl runs on its user's machine.
var components = []string{"manager", "node", "gateway"}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to be undone
	}
}

func run(ctx context.Context, args []string, output io.Writer) error {
	flags := flag.NewFlagSet("images", flag.ContinueOnError)
	module := flags.String("module", ".", "the checkout of Streamshift")
	folder := flags.String("folder", "bin/images", "where the OCI layouts are written, one folder a component")
	version := flags.String("version", "dev", "the version, which is the tag, too")
	push := flags.String("push", "", "push to this registry and path, such as registry.example.com/streamshift, with Docker's credentials")
	programs := flags.String("programs", "cmd", "the folder of the checkout that has the programs' packages")
	on := flags.String("platforms", "linux/amd64,linux/arm64", "the platforms that each image is built for")
	only := flags.String("only", strings.Join(components, ","), "the components to build")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("reading the command line: %w", err)
	}
	platforms, err := parsePlatforms(*on)
	if err != nil {
		return err
	}
	for component := range strings.SplitSeq(*only, ",") {
		index, err := buildIndex(ctx, source{module: *module, programs: *programs}, component, *version, platforms)
		if err != nil {
			return fmt.Errorf("building the image of %s: %w", component, err)
		}
		if err := writeLayout(filepath.Join(*folder, component), component, *version, index); err != nil {
			return fmt.Errorf("writing the image of %s: %w", component, err)
		}
		digest, err := index.Digest()
		if err != nil {
			return fmt.Errorf("computing the digest of %s: %w", component, err)
		}
		if _, err := fmt.Fprintf(output, "%s:%s %s\n", component, *version, digest); err != nil {
			return fmt.Errorf("printing: %w", err)
		}
		if *push == "" {
			continue
		}
		if err := pushIndex(ctx, *push+"/"+component+":"+*version, index); err != nil {
			return fmt.Errorf("pushing the image of %s: %w", component, err)
		}
	}
	return nil
}

// parsePlatforms reads platforms as in "linux/amd64,linux/arm64".
func parsePlatforms(list string) ([]v1.Platform, error) {
	var platforms []v1.Platform
	for text := range strings.SplitSeq(list, ",") {
		platform, err := v1.ParsePlatform(text)
		if err != nil {
			return nil, fmt.Errorf("reading the platform %q: %w", text, err)
		}
		platforms = append(platforms, *platform)
	}
	return platforms, nil
}
