package secure

import (
	"context"
	"io"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/streamshift/streamshift/streamclient"
)

// validityOfAnswers is longer than what the API server says holds for the gateway.
const validityOfAnswers = 25 * time.Second

var _ = Describe("Rights", func() {
	It("that are taken away end what lasts within the duration of an event stream, and are asked about again", func(ctx SpecContext) {
		newStream(ctx, "watched")
		token := grantedToken(ctx, "watcher", "streamshift-stream-reader")
		stream := client(token).Stream(namespace, "watched")
		Eventually(ctx, func() error { _, err := stream.Head(ctx); return err }).WithTimeout(patience).Should(Succeed())
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, stream.URL()+"?offset=-1&live=sse", http.NoBody)
		Expect(err).NotTo(HaveOccurred())
		response, err := cluster.StreamsTransport(token).RoundTrip(request)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(response.Body.Close)
		Expect(response.StatusCode).To(Equal(http.StatusOK))
		binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: namespace + "-watcher-streamshift-stream-reader"}}
		Expect(cluster.Client().Delete(ctx, binding)).To(Succeed())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = io.Copy(io.Discard, response.Body)
		}()
		Eventually(ctx, ended).WithTimeout(patience).Should(BeClosed())
		Eventually(ctx, func() error { _, err := stream.Head(ctx); return err }).WithTimeout(patience).Should(MatchError(streamclient.ErrForbidden))
	})

	It("are known while the API server is away, for those who used them, and for nobody else", func(ctx SpecContext) {
		newStream(ctx, "steady")
		known, late := client(writer).Stream(namespace, "steady"), grantedToken(ctx, "late", "streamshift-stream-reader")
		write := func(ctx context.Context, s *streamclient.Stream) error {
			_, err := s.Append(ctx, []byte("1"), streamclient.AppendOptions{ContentType: "application/json"})
			return err
		}
		Eventually(ctx, func() error { return write(ctx, known) }).WithTimeout(patience).Should(Succeed())
		Expect(cluster.APIServer().Pause()).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(cluster.APIServer().Resume()).To(Succeed())
			Expect(cluster.AwaitReady(ctx)).To(Succeed())
			Expect(cluster.AwaitRenewals(ctx, "node-a", "node-b")).To(Succeed())
		})
		// Longer than an answer of the API server holds.
		Consistently(ctx, func() error { return write(ctx, known) }).WithTimeout(validityOfAnswers).WithPolling(validityOfAnswers / 50).Should(Succeed())
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, known.URL()+"?offset=-1", http.NoBody)
		Expect(err).NotTo(HaveOccurred())
		response, err := cluster.StreamsTransport(late).RoundTrip(request)
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = response.Body.Close() }()
		Expect(response.StatusCode).To(Equal(http.StatusServiceUnavailable))
		Expect(response.Header.Get("Retry-After")).NotTo(BeEmpty())
	})
})
