package integration

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/test/localcluster"
)

var (
	cluster *localcluster.Cluster
	api     client.Client
)

func TestIntegration(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "integration with a real API server")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	cluster, err = localcluster.Start(ctx, localcluster.Options{Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cluster.Stop)
	Expect(cluster.CreateNamespace(ctx, "default")).To(Succeed())
	Expect(cluster.Install(ctx, "crd")).To(Succeed())
	api = cluster.Client()
})
