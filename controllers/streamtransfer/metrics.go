package streamtransfer

import (
	"cmp"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/streamshift/streamshift/api/v1alpha1"
)

// Metrics counts transfers as they end.
type Metrics struct {
	transfers *prometheus.CounterVec
	window    prometheus.Histogram
	phases    *prometheus.HistogramVec
}

// windowBuckets are seconds: a quiet transfer takes some 10 ms, and clients wait 10 s.
var windowBuckets = []float64{.005, .01, .02, .03, .05, .075, .1, .2, .3, .5, 1, 2, 5, 10, 30}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		transfers: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "streamshift_transfers_total", Help: "Transfers that ended, by result and cause.",
		}, []string{"result", "cause"}),
		window: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "streamshift_transfer_window_seconds", Help: "Time from the source's stop to the target's open, by their clocks.", Buckets: windowBuckets,
		}),
		phases: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "streamshift_transfer_phase_seconds", Buckets: windowBuckets,
			Help: "The window in parts: drain (stop to flushed), commit (flushed to committed), open (committed to open).",
		}, []string{"phase"}),
	}
	registry.MustRegister(m.transfers, m.window, m.phases)
	return m
}

// ended counts a transfer whose outcome was just recorded.
func (m *Metrics) ended(transfer *v1alpha1.StreamTransfer) {
	status := &transfer.Status
	m.transfers.WithLabelValues(string(status.Phase), cause(transfer)).Inc()
	if status.Window == nil {
		return
	}
	m.window.Observe(status.Window.Seconds())
	if status.ClosedAt != nil && status.CommittedAt != nil {
		m.phases.WithLabelValues("drain").Observe(status.ClosedAt.Sub(status.StoppedAt.Time).Seconds())
		m.phases.WithLabelValues("commit").Observe(status.CommittedAt.Sub(status.ClosedAt.Time).Seconds())
		m.phases.WithLabelValues("open").Observe(status.OpenedAt.Sub(status.CommittedAt.Time).Seconds())
	}
}

// cause says on whose behalf a transfer was made.
func cause(transfer *v1alpha1.StreamTransfer) string {
	return cmp.Or(transfer.Labels[v1alpha1.LabelCause], "User")
}
