package localcluster

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// RunTests is the body of a TestMain: it starts a cluster, hands it to prepare, runs the package's tests and stops the cluster.
// It returns the exit code for os.Exit.
//
//	func TestMain(m *testing.M) {
//		os.Exit(localcluster.RunTests(m, localcluster.Options{}, func(ctx context.Context, c *localcluster.Cluster) error {
//			cluster = c
//			return c.Install(ctx, "crd")
//		}))
//	}
func RunTests(m *testing.M, options Options, prepare func(context.Context, *Cluster) error) int {
	ctx := context.Background()
	if options.Progress == nil {
		options.Progress = os.Stderr
	}
	cluster, err := Start(ctx, options)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := 1
	if err := prepare(ctx, cluster); err != nil {
		fmt.Fprintln(os.Stderr, err)
	} else {
		code = m.Run()
	}
	if err := cluster.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
