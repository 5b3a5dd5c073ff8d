package secure

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8s "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/streamshift/streamshift/api/v1alpha1"
	"github.com/streamshift/streamshift/controllers/certificates"
	"github.com/streamshift/streamshift/test/load"
	"github.com/streamshift/streamshift/test/localcluster"
)

// failures counts what failed, and keeps the first.
type failures struct {
	mu    sync.Mutex
	tried int
	first []string
}

func (f *failures) note(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tried++
	if err != nil && len(f.first) < 5 {
		f.first = append(f.first, time.Now().Format(time.TimeOnly)+" "+err.Error())
	}
}

// repeat tries something again and again, at a pace, until the context ends.
func repeat(ctx context.Context, running *sync.WaitGroup, pace time.Duration, try func(context.Context) error) *failures {
	f := &failures{}
	running.Go(func() {
		ticker := time.NewTicker(pace)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if err := try(ctx); ctx.Err() == nil {
				f.note(err)
			}
		}
	})
	return f
}

// leaves notes the certificates, and their signers, that a server was seen to have.
type leaves struct {
	mu              sync.Mutex
	serials, issuer map[string]bool
}

func (l *leaves) see(state tls.ConnectionState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	leaf := state.PeerCertificates[0]
	l.serials[leaf.SerialNumber.String()] = true
	l.issuer[string(leaf.AuthorityKeyId)] = true
}

func newLeaves() *leaves { return &leaves{serials: map[string]bool{}, issuer: map[string]bool{}} }

// admit has the webhook asked about a transfer that is not made.
func admit(ctx context.Context) error {
	transfer := &v1alpha1.StreamTransfer{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "asked-"}, Spec: v1alpha1.StreamTransferSpec{Stream: "renewed", Target: "node-a"},
	}
	err := cluster.Client().Create(ctx, transfer, k8s.DryRunAll)
	if err != nil && strings.Contains(err.Error(), "failed calling webhook") {
		return err
	}
	return nil // whether it says yes or no, it was asked
}

// greetWebhook connects to the webhook as the API server does: it trusts what the configuration says now.
func greetWebhook(ctx context.Context, seen *leaves) error {
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := cluster.Client().Get(ctx, k8s.ObjectKey{Name: "streamshift"}, configuration); err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(configuration.Webhooks[0].ClientConfig.CABundle)
	port := configuration.Webhooks[0].ClientConfig.Service.Port
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: pool, ServerName: "streamshift-webhook.streamshift-system.svc", MinVersion: tls.VersionTLS12}}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(*port)))
	if err != nil {
		return err
	}
	seen.see(conn.(*tls.Conn).ConnectionState()) //nolint:forcetypeassert // that is what the dialer makes
	return conn.Close()
}

// readOnce reads over a connection of its own.
func readOnce(ctx context.Context, seen *leaves) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodHead, streamshift.Gateway.URL()+"/v1/stream/"+namespace+"/renewed", http.NoBody)
	if err != nil {
		return err
	}
	request.Close = true
	response, err := cluster.StreamsTransport(reader).RoundTrip(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return err
	}
	seen.see(*response.TLS)
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", response.Status)
	}
	return nil
}

// shorten has the manager begin anew, with an authority and certificates that do not live long, and end so after the spec. That is a break,
// as where somebody loses the authority: it heals once everybody has heard of the new one.
func shorten(ctx context.Context) {
	GinkgoHelper()
	begin := func(ctx context.Context, args ...string) {
		GinkgoHelper()
		gateway, webhook := newLeaves(), newLeaves()
		Eventually(ctx, func() error { return readOnce(ctx, gateway) }).WithTimeout(patience).Should(Succeed())
		Expect(greetWebhook(ctx, webhook)).To(Succeed())
		Expect(streamshift.Manager.Stop()).To(Succeed()) // or it would make another one of the same life
		authority := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: localcluster.SystemNamespace, Name: certificates.AuthoritySecret}}
		Expect(cluster.Client().Delete(ctx, authority)).To(Succeed())
		Expect(streamshift.Manager.Reconfigure(ctx, args...)).To(Succeed())
		Eventually(ctx, func(g Gomega, ctx context.Context) {
			g.Expect(readOnce(ctx, gateway)).To(Succeed())
			g.Expect(greetWebhook(ctx, webhook)).To(Succeed())
			g.Expect(admit(ctx)).To(Succeed())
			g.Expect([]int{len(gateway.issuer), len(webhook.issuer)}).To(Equal([]int{2, 2}))
		}).WithTimeout(patience).Should(Succeed())
	}
	begin(ctx, "--certificate-validity="+validity().certificate.String(), "--authority-validity="+validity().authority.String())
	DeferCleanup(func(ctx SpecContext) { begin(ctx) })
}

var _ = Describe("Certificates", func() {
	It("are renewed, and their authority is followed by the next one, under load, and nobody notices", func(ctx SpecContext) {
		stream := newStream(ctx, "renewed")
		shorten(ctx)
		running := &sync.WaitGroup{}
		watched, end := context.WithTimeout(ctx, validity().watched)
		defer end()
		run := load.Start(ctx, load.Options{
			URL: streamshift.Gateway.URL() + "/v1/stream/" + namespace + "/" + stream.Name, Producers: 1, Appenders: 1, Readers: 1, Pause: 10 * time.Millisecond,
			Client: &http.Client{Transport: cluster.StreamsTransport(writer), Timeout: patience},
		})
		gatewayLeaves, webhookLeaves := newLeaves(), newLeaves()
		admissions := repeat(watched, running, 100*time.Millisecond, admit)
		webhook := repeat(watched, running, 500*time.Millisecond, func(ctx context.Context) error { return greetWebhook(ctx, webhookLeaves) })
		reads := repeat(watched, running, 200*time.Millisecond, func(ctx context.Context) error { return readOnce(ctx, gatewayLeaves) })
		var transfers atomic.Int32
		moves := repeat(watched, running, 5*time.Second, func(ctx context.Context) error {
			current := &v1alpha1.Stream{}
			if err := cluster.Client().Get(ctx, k8s.ObjectKeyFromObject(stream), current); err != nil {
				return err
			}
			target := map[string]string{"node-a": "node-b", "node-b": "node-a"}[current.Status.Node]
			transfers.Add(1)
			return cluster.Client().Create(ctx, &v1alpha1.StreamTransfer{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "renewed-"}, Spec: v1alpha1.StreamTransferSpec{Stream: stream.Name, Target: target},
			})
		})
		running.Wait()
		tally, err := run.Stop(ctx)
		Expect(err).NotTo(HaveOccurred(), "failed requests: %v", run.Faults())
		Expect(tally.Failed).To(BeZero(), "failed requests: %v", run.Faults())
		for what, f := range map[string]*failures{"admissions": admissions, "connections to the webhook": webhook, "reads over new connections": reads, "transfers": moves} {
			Expect(f.first).To(BeEmpty(), "%s of %d", what, f.tried)
			Expect(f.tried).To(BeNumerically(">", 5), what)
		}
		for what, seen := range map[string]*leaves{"gateway": gatewayLeaves, "webhook": webhookLeaves} {
			Expect(len(seen.serials)).To(BeNumerically(">=", 3), "certificates of the %s", what)
			Expect(len(seen.issuer)).To(BeNumerically(">=", 2), "authorities that signed for the %s", what)
		}
		AddReportEntry("renewal", fmt.Sprintf("%+v; %d admissions, %d connections to the webhook, %d reads over new connections, %d transfers; "+
			"%d certificates of the gateway by %d authorities, %d of the webhook by %d", tally, admissions.tried, webhook.tried, reads.tried, moves.tried,
			len(gatewayLeaves.serials), len(gatewayLeaves.issuer), len(webhookLeaves.serials), len(webhookLeaves.issuer)))
	})
})
