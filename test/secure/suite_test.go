package secure

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/streamclient"
	"github.com/streamshift/streamshift/test/localcluster"
)

const (
	namespace = "default"
	// writerAccount is whose token writer is.
	writerAccount = "writer"
	patience      = 60 * time.Second
	logLines      = 40
)

// lives of certificates and of the authority, and for how long streams are written meanwhile.
type lives struct{ certificate, authority, watched time.Duration }

// validity is short enough that certificates are renewed several times, and the authority is followed by the next one, which signs then.
// With LONG in the environment it takes some minutes, and certificates live as long as a kubelet could cope with.
func validity() lives {
	if os.Getenv("LONG") != "" {
		return lives{certificate: 2 * time.Minute, authority: 8 * time.Minute, watched: 6 * time.Minute}
	}
	return lives{certificate: 20 * time.Second, authority: 80 * time.Second, watched: 75 * time.Second}
}

var (
	cluster     *localcluster.Cluster
	streamshift *localcluster.Streamshift
	// writer may do what the role of writers says in namespace, and reader what that of readers does.
	writer, reader string
)

func TestSecure(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Secure")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	var err error
	cluster, err = localcluster.Start(ctx, localcluster.Options{Security: localcluster.SecurityFull, Progress: GinkgoWriter})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(cluster.Stop)
	streamshift, err = cluster.StartStreamshift(ctx, localcluster.Layout{
		Nodes:       []string{"node-a", "node-b"},
		GatewayArgs: []string{"--event-stream-duration=10s"},
	})
	Expect(err).NotTo(HaveOccurred())
	writer = grantedToken(ctx, writerAccount, "streamshift-stream-writer", "streamshift-stream-reader")
	reader = grantedToken(ctx, "reader", "streamshift-stream-reader")
})

var _ = JustAfterEach(func() {
	if !CurrentSpecReport().Failed() {
		return
	}
	for _, process := range cluster.Processes() {
		log, err := process.Log()
		if err != nil {
			log = err.Error()
		}
		lines := strings.Split(strings.TrimSpace(log), "\n")
		GinkgoWriter.Printf("\n--- the end of the log of %s\n%s\n", process.Name(), strings.Join(lines[max(0, len(lines)-logLines):], "\n"))
	}
})

// grantedToken returns a token of a service account of the namespace that has the roles there.
func grantedToken(ctx context.Context, account string, roles ...string) string {
	GinkgoHelper()
	token, err := cluster.Token(ctx, localcluster.TokenOptions{Namespace: namespace, Account: account})
	Expect(err).NotTo(HaveOccurred())
	for _, role := range roles {
		Expect(cluster.Grant(ctx, namespace, role, namespace, account)).To(Succeed())
	}
	return token
}

// client returns a client of the gateway that sends a token.
func client(token string) *streamclient.Client {
	return streamclient.New(streamshift.Gateway.URL(), streamclient.Options{HTTP: &http.Client{Transport: cluster.StreamsTransport(token)}})
}

// newStream makes a stream of lines, on a node that the manager chooses.
func newStream(ctx context.Context, name string) *v1alpha1.Stream {
	GinkgoHelper()
	stream := &v1alpha1.Stream{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: v1alpha1.StreamSpec{ContentType: "application/json"},
	}
	Expect(cluster.Client().Create(ctx, stream)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(cluster.Client().Delete(ctx, stream)).To(Succeed()) })
	_, err := cluster.Kubectl(ctx, "wait", "--for=condition=Ready", "stream/"+name, "--timeout="+patience.String())
	Expect(err).NotTo(HaveOccurred())
	return stream
}
