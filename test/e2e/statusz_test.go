package e2e

import (
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The manager's status page", func() {
	It("shows what goes on to those whose role lets them see it, and to nobody else", func(ctx SpecContext) {
		stream := newStream(ctx, "on-the-page")
		key := newTransfer(ctx, stream.Name, otherNode(stream.Status.Node), "on-the-page")
		awaitSuccess(ctx, key)

		viewer, reader, stranger := tokenOf(ctx, "status-viewer"), tokenOf(ctx, "metrics-reader-only"), tokenOf(ctx, "stranger")
		for account, role := range map[string]string{"status-viewer": "streamshift-status-viewer", "metrics-reader-only": "streamshift-metrics-reader"} {
			Expect(cluster.GrantEverywhere(ctx, role, account)).To(Succeed())
		}
		url := strings.TrimSuffix(streamshift.Manager.MetricsURL(), "/metrics") + "/statusz"
		Eventually(ctx, func(g Gomega) { // the bindings become known a moment later
			for token, want := range map[string]int{
				"": http.StatusUnauthorized, stranger: http.StatusForbidden, reader: http.StatusForbidden, viewer: http.StatusOK,
			} {
				status, _ := fetch(ctx, g, url, token)
				g.Expect(status).To(Equal(want))
			}
		}).WithTimeout(patience).Should(Succeed())
		Eventually(ctx, func(g Gomega) { // from the manager's cache
			_, page := fetch(ctx, g, url, viewer)
			for _, want := range append([]string{"which leads", "default/on-the-page", "Succeeded"}, nodes...) {
				g.Expect(page).To(ContainSubstring(want))
			}
		}).WithTimeout(patience).Should(Succeed())
	})
})
