package gitops

import (
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestTheSamplesForGitAreAccepted(t *testing.T) {
	g, ctx := test(t)
	samples := filepath.Join("..", "..", "config", "samples", "gitops")
	streams := mustKubectl(t, "apply", "--dry-run=server", "-k", filepath.Join(samples, "streams"))
	g.Expect(streams).To(And(ContainSubstring("stream.streamshift.io/orders"), ContainSubstring("streamrebalance.streamshift.io/nightly")))
	// A move names a stream and what was true of it; here it is not true, and the refusal says so.
	_, err := cluster.Kubectl(ctx, "apply", "--dry-run=server", "-k", filepath.Join(samples, "moves"))
	g.Expect(err).To(MatchError(ContainSubstring(`stream "payments" does not exist in namespace "default"`)))
	health := mustKubectl(t, "kustomize", filepath.Join("..", "..", "config", "argocd"))
	for _, kind := range []string{"Stream", "StreamNode", "StreamTransfer", "StreamRebalance"} {
		g.Expect(health).To(ContainSubstring("resource.customizations.health.streamshift.io_" + kind + ": |"))
	}
}
