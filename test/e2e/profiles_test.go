package e2e

import (
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/streamshift/streamshift/controllers/monitoring"
)

var _ = Describe("Profiles of the gateway", func() {
	It("are for those whose role lets them take profiles, and for nobody else", func(ctx SpecContext) {
		profiler, reader := tokenOf(ctx, "profiler"), tokenOf(ctx, "no-profiler")
		Expect(cluster.GrantEverywhere(ctx, "streamshift-profile-reader", "profiler")).To(Succeed())
		Expect(cluster.GrantEverywhere(ctx, "streamshift-metrics-reader", "no-profiler")).To(Succeed())

		profiles := strings.TrimSuffix(streamshift.Gateway.MetricsURL(), "/metrics") + monitoring.ProfilesPath
		for _, path := range []string{"", "cmdline", "goroutine?debug=1", "profile?seconds=1"} {
			Eventually(ctx, func(g Gomega) { // the bindings become known a moment later
				for token, want := range map[string]int{
					"": http.StatusUnauthorized, reader: http.StatusForbidden, profiler: http.StatusOK,
				} {
					status, _ := fetch(ctx, g, profiles+path, token)
					g.Expect(status).To(Equal(want), "%q", path)
				}
			}).WithTimeout(patience).Should(Succeed())
		}
		status, _ := fetch(ctx, Default, streamshift.Gateway.MetricsURL(), profiler)
		Expect(status).To(Equal(http.StatusForbidden), "the role of profiles has nothing to do with metrics")
	})
})
