package route

import (
	"context"
	"os"
	"testing"

	"github.com/streamshift/streamshift/test/localcluster"
)

var cluster *localcluster.Cluster

func TestMain(m *testing.M) {
	os.Exit(localcluster.RunTests(m, localcluster.Options{}, func(ctx context.Context, c *localcluster.Cluster) error {
		cluster = c
		if err := c.CreateNamespace(ctx, "default"); err != nil {
			return err
		}
		return c.Install(ctx, "crd")
	}))
}
