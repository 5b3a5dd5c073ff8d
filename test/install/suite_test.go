package install

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/test/localcluster"
)

const system = localcluster.SystemNamespace

var (
	cluster *localcluster.Cluster
	api     client.Client
)

func TestInstall(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "What users install")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	cluster, err = localcluster.Start(ctx, localcluster.Options{Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cluster.Stop)
	api = cluster.Client()
	Expect(cluster.CreateNamespace(ctx, "default")).To(Succeed())
	Expect(cluster.CreateNamespace(ctx, "kube-public")).To(Succeed())
	Expect(cluster.Install(ctx, "overlays/s3")).To(Succeed())
	for _, node := range []string{"node-a", "node-b"} {
		Expect(cluster.CreateNode(ctx, node)).To(Succeed())
	}
})

// as returns a client with a token of the component's service account, bound to the node where one is given.
func as(ctx SpecContext, account, node string) client.Client {
	GinkgoHelper()
	path, err := cluster.AccountKubeconfig(ctx, account, node)
	Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.BuildConfigFromFlags("", path)
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	c, err := client.New(config, client.Options{Scheme: api.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	return c
}
