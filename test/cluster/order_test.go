//go:build linux

package cluster

import . "github.com/onsi/ginkgo/v2"

// One cluster, in the order of its life. What fails is told, and the rest is tried all the same.
var _ = Describe("Streamshift on a real cluster", Ordered, ContinueOnFailure, func() {
	Context("installed by kustomize", Ordered, installedByKustomize)
	Context("serving", Ordered, serving)
	Context("losing nodes", Ordered, losingNodes)
	Context("rolled out", Ordered, rolledOut)
	Context("uninstalled by kustomize", Ordered, uninstalledByKustomize)
	Context("installed by Helm", Ordered, installedByHelm)
	Context("upgraded from the release before", Ordered, upgraded)
})
