package drain

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/streamshift/streamshift/internal/placement"
)

// Metrics tell how drains go. A node has them while streams are to leave it.
type Metrics struct {
	remaining, blocked, share *prometheus.GaugeVec
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"node"})
	}
	m := &Metrics{
		remaining: gauge("streamshift_drain_remaining_streams", "Streams that are still to leave a node that is drained or gone."),
		blocked:   gauge("streamshift_drain_blocked_streams", "Those of them that cannot leave now."),
		share: gauge("streamshift_drain_target_transfers_limit",
			"Transfers that may be under way at the same time to a node that gets fewer than the limit, since requests waited too long."),
	}
	registry.MustRegister(m.remaining, m.blocked, m.share)
	return m
}

// report sets a node's metrics.
func (m *Metrics) report(n *nodeView, blocked []placement.Blocker, share, limit int) {
	if share < limit {
		m.share.WithLabelValues(n.node.Name).Set(float64(share))
	} else {
		m.share.DeleteLabelValues(n.node.Name)
	}
	if !n.leaves() {
		m.remaining.DeleteLabelValues(n.node.Name)
		m.blocked.DeleteLabelValues(n.node.Name)
		return
	}
	m.remaining.WithLabelValues(n.node.Name).Set(float64(len(n.streams)))
	m.blocked.WithLabelValues(n.node.Name).Set(float64(len(blocked)))
}
