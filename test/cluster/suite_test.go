//go:build linux

package cluster

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/test/kubelets"
	"github.com/streamshift/streamshift/test/s3server"
)

const (
	system    = "streamshift-system"
	namespace = "default"
	// patience bounds a wait on a busy machine of 2 cores.
	patience = 120 * time.Second
	// storeAddress is where the object store is, beside the control plane.
	storeAddress = kubelets.ControlAddress + ":7070"
	// version is the tag of the images.
	version = "dev"
)

var asked = flag.Bool("kubelets", false, "start three real nodes on this machine, which takes root, and test on them")

var (
	cluster *kubelets.Cluster
	api     client.WithWatch
)

func TestMain(m *testing.M) {
	kubelets.RunNode()
	flag.Parse()
	if !*asked {
		_, _ = fmt.Fprintln(os.Stdout, "The tests on real kubelets are skipped: they run where they are asked for, by make test-cluster")
		return
	}
	os.Exit(kubelets.RunTests(m, configure))
}

// configure builds, outside of the cluster, what it shall have.
func configure(ctx context.Context, options *kubelets.Options) error {
	program, err := s3server.Build(ctx, options.Checkout)
	if err != nil {
		return fmt.Errorf("building the object store: %w", err)
	}
	if output, err := exec.CommandContext(ctx, filepath.Join(options.Checkout, "hack", "helm", "build.sh")).CombinedOutput(); err != nil {
		return fmt.Errorf("building Helm: %w: %s", err, output)
	}
	options.Beside = []kubelets.Program{{Name: "s3", Path: program, Arguments: func(folder string) ([]string, error) {
		return s3server.Arguments(storeAddress, folder)
	}}}
	components := []string{"manager", "node", "gateway"}
	options.Images = []kubelets.Images{{Version: version, Programs: "cmd", Names: components}}
	if hasPrevious(ctx, options.Checkout) {
		earlier := kubelets.Images{Commit: previous, Version: previousVersion, Programs: "cmd", Names: components}
		options.Images = append(options.Images, earlier)
	}
	return nil
}

func TestCluster(t *testing.T) {
	RegisterFailHandler(Fail)
	log.SetLogger(logr.Discard())
	RunSpecs(t, "On real kubelets")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	cluster, err = kubelets.Attach(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(cluster.AwaitNodes(ctx)).To(Succeed())
	config, err := cluster.RESTConfig()
	Expect(err).NotTo(HaveOccurred())
	scheme := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(scheme)).To(Succeed())
	Expect(v1alpha1.AddToScheme(scheme)).To(Succeed())
	api, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
})

// checkout is a path of this module.
func checkout(elements ...string) string {
	return filepath.Join(append([]string{"..", ".."}, elements...)...)
}

// What the components and the objects say is shown where a spec failed.
var _ = JustAfterEach(func(ctx SpecContext) {
	if !CurrentSpecReport().Failed() {
		return
	}
	for _, args := range [][]string{
		{"get", "pods", "-A", "-o", "wide"},
		{"get", "streamnodes,streams,streamtransfers", "-A", "-o", "wide"},
		{"get", "events", "-A", "--sort-by=.lastTimestamp"},
		{"-n", system, "logs", "-l", "app.kubernetes.io/name=streamshift", "--prefix", "--tail=60", "--max-log-requests=20"},
	} {
		output, _ := tryKubectl(ctx, args...) // what went wrong is in the output
		GinkgoWriter.Printf("\n--- kubectl %s\n%s\n", strings.Join(args, " "), output)
	}
})
