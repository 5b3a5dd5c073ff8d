package e2e

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/streamshift/streamshift/test/localcluster"
)

// tokenOf returns a token of a service account in the system's namespace.
func tokenOf(ctx context.Context, account string) string {
	GinkgoHelper()
	path, err := cluster.AccountKubeconfig(ctx, account, "")
	Expect(err).NotTo(HaveOccurred())
	config, err := clientcmd.BuildConfigFromFlags("", path)
	Expect(err).NotTo(HaveOccurred())
	return config.BearerToken
}

// fetchMetrics asks a component for its metrics; an empty token is none.
func fetchMetrics(ctx context.Context, g Gomega, process *localcluster.Process, token string) (status int, body string) {
	return fetch(ctx, g, process.MetricsURL(), token)
}

// fetch asks for a page beside the metrics.
func fetch(ctx context.Context, g Gomega, url, token string) (status int, body string) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(content)
}

var _ = Describe("Metrics", func() {
	It("are shown to those whose role lets them read metrics, and to nobody else", func(ctx SpecContext) {
		reader, stranger := tokenOf(ctx, "metrics-reader"), tokenOf(ctx, "stranger")
		Expect(cluster.GrantEverywhere(ctx, "streamshift-metrics-reader", "metrics-reader")).To(Succeed())
		for _, process := range []*localcluster.Process{streamshift.Manager, streamshift.Gateway, streamshift.Nodes["node-a"]} {
			By(process.Name())
			Eventually(ctx, func(g Gomega) { // the port may be served a moment later than the process is ready, and the binding known
				for token, want := range map[string]int{
					"": http.StatusUnauthorized, stranger: http.StatusForbidden, reader: http.StatusOK,
					"garbage": http.StatusInternalServerError, // so says the library's filter of a token that the API server does not take
				} {
					status, body := fetchMetrics(ctx, g, process, token)
					g.Expect(status).To(Equal(want))
					g.Expect(strings.Contains(body, "streamshift_")).To(Equal(want == http.StatusOK))
				}
			}).WithTimeout(patience).Should(Succeed())
		}
	})
})
